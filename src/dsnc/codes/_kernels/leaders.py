"""Leaders of codes: so few of them that every other code of a group is near one."""

from dsnc.codes._kernels.tools import kernel, popcount


@kernel
def lead(words, order, starts, radius, is_leader, leaders):
    """Mark the rows that are no nearer than the radius to a leader of their group before them.

    Group g has the rows ``order[starts[g] : starts[g + 1]]``, and who comes first leads. The last
    argument is scratch space for the leaders of the largest group.
    """
    for group in range(starts.shape[0] - 1):
        n = 0
        for place in range(starts[group], starts[group + 1]):
            row = order[place]
            near = False
            for other in leaders[:n]:
                distance = 0
                for word in range(words.shape[1]):
                    distance += popcount(words[row, word] ^ words[other, word])
                if distance <= radius:
                    near = True
                    break
            is_leader[row] = not near
            if not near:
                leaders[n] = row
                n += 1
