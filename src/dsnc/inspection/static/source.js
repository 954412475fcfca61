// Where a model comes from: the service that serves this page, or the page itself.
import { byId } from "./dom.js";

export const CHANGED = 409;

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

// All of a model is in this file; nothing can be asked.
class FromFile {
  live = false;

  async models() {
    return [(await this._json("facts")).model];
  }

  async facts() {
    return this._json("facts");
  }

  async labels() {
    return this._json("labels");
  }

  async codes() {
    return new Uint32Array(await unpacked("codes"));
  }

  async places() {
    return new Uint16Array(await unpacked("map"));
  }

  async _json(id) {
    return JSON.parse(new TextDecoder().decode(await unpacked(id)));
  }
}

async function unpacked(id) {
  const bytes = Uint8Array.from(atob(byId(`data-${id}`).textContent.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

class FromService {
  live = true;
  token = "";
  changeable = new Set(); // names of models that learn new classes

  async models() {
    const { models } = await (await this._get("models")).json();
    this.changeable = new Set(models.filter((model) => model.changeable).map((model) => model.name));
    return models.map((model) => model.name);
  }

  async facts(name) {
    const facts = await (await this._get(at(name, "page/facts"))).json();
    return { ...facts, changes: this.changeable.has(name) };
  }

  async labels(name, version) {
    return (await this._part(name, "labels", version)).json();
  }

  async codes(name, version) {
    return new Uint32Array(await (await this._part(name, "codes", version)).arrayBuffer());
  }

  // A map of many classes takes some seconds to make; until then the answer is empty.
  async places(name, version) {
    for (;;) {
      const answer = await this._part(name, "map", version);
      if (answer.status === 200) return new Uint16Array(await answer.arrayBuffer());
      await new Promise((go) => setTimeout(go, 1000 * Number(answer.headers.get("retry-after") || 1)));
    }
  }

  // A part of what is shown; another version's would not fit the others.
  async _part(name, what, version) {
    const answer = await this._get(at(name, `page/${what}`));
    const has = answer.headers.get("x-model-version");
    if (answer.status === 200 && has !== version) throw new Refused(CHANGED, "The model has changed.");
    return answer;
  }

  async predict(name, body) {
    return (await this._send("POST", at(name, "predict"), body)).json();
  }

  async add(name, body) {
    return (await this._send("POST", at(name, "classes"), body)).json();
  }

  _get(path) {
    return this._ask(path, { headers: this._headers() });
  }

  _send(method, path, body) {
    const headers = { ...this._headers(), "Content-Type": "application/json" };
    return this._ask(path, { method, headers, body: JSON.stringify(body) });
  }

  _headers() {
    return this.token ? { Authorization: `Bearer ${this.token}` } : {};
  }

  async _ask(path, options) {
    let answer;
    try {
      answer = await fetch(path, { ...options, credentials: "omit", redirect: "error" });
    } catch {
      throw new Refused(0, "The service cannot be reached. Is it still running?");
    }
    if (answer.ok) return answer;
    const said = await answer.json().catch(() => ({}));
    throw new Refused(answer.status, said.error || `The service answers with status ${answer.status}.`);
  }
}

const at = (name, what) => `models/${encodeURIComponent(name)}/${what}`;

export const openSource = () => (byId("data-facts") ? new FromFile() : new FromService());
