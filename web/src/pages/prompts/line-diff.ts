export interface DiffLine {
  kind: 'same' | 'added' | 'removed';
  text: string;
}

/** Beyond this many pairs of lines to compare, the changed part is shown as replaced whole. */
const pairsMax = 1_000_000;

/** How lines became others, with as few changes as there can be. */
export function lineDiff(before: readonly string[], after: readonly string[]): DiffLine[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  while (
    end < before.length - start &&
    end < after.length - start &&
    before[before.length - 1 - end] === after[after.length - 1 - end]
  ) {
    end += 1;
  }
  const old = before.slice(start, before.length - end);
  const young = after.slice(start, after.length - end);
  return [
    ...lines('same', before.slice(0, start)),
    ...(old.length * young.length > pairsMax
      ? [...lines('removed', old), ...lines('added', young)]
      : between(old, young)),
    ...lines('same', before.slice(before.length - end)),
  ];
}

function lines(kind: DiffLine['kind'], texts: readonly string[]): DiffLine[] {
  return texts.map((text) => ({ kind, text }));
}

/** By their longest common subsequence. */
function between(old: readonly string[], young: readonly string[]): DiffLine[] {
  const width = young.length + 1;
  // Of each pair of places: how many lines are common from there on.
  const common = new Uint32Array((old.length + 1) * width);
  const at = (i: number, j: number) => common[i * width + j] ?? 0;
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = young.length - 1; j >= 0; j -= 1) {
      common[i * width + j] = old[i] === young[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const result: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < young.length) {
    if (i < old.length && old[i] === young[j]) {
      result.push({ kind: 'same', text: old[i] ?? '' });
      i += 1;
      j += 1;
    } else if (i < old.length && (j === young.length || at(i + 1, j) >= at(i, j + 1))) {
      result.push({ kind: 'removed', text: old[i] ?? '' });
      i += 1;
    } else {
      result.push({ kind: 'added', text: young[j] ?? '' });
      j += 1;
    }
  }
  return result;
}
