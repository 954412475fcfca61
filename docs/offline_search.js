// Pages that are opened from the disk may not start workers, and the search of the site is one.
// There, a hidden frame runs the worker's script instead.
if (location.protocol === "file:") {
  class FrameWorker extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.inside = frame.contentWindow;
      this.inside.postMessage = (data) => {
        const answer = new MessageEvent("message", { data });
        this.dispatchEvent(answer);
        this.onmessage?.(answer);
      };
      const script = this.inside.document.createElement("script");
      this.ready = new Promise((loaded) => script.addEventListener("load", loaded));
      script.src = url;
      this.inside.document.body.append(script);
    }

    async postMessage(data) {
      await this.ready;
      this.inside.dispatchEvent(new this.inside.MessageEvent("message", { data }));
    }
  }
  window.Worker = FrameWorker;
  window.IFrameWorker = FrameWorker; // the name by which the script knows that it runs in a frame
}
