/** A turn, as Messages and Converse have it: several of one role in a row are one. */
interface Turn<Block> {
  role: string;
  content: string | readonly Block[];
}

interface Kinds<Block> {
  isResult(block: Block): boolean;
  isThought(block: Block): boolean;
}

/**
 * Index of the message with which the model's turn begins, if the conversation waits for an answer to results of that turn's
 * tools; else -1. All calls that only results follow are one turn.
 */
function loopStart<Block>(turns: readonly Turn<Block>[], { isResult }: Kinds<Block>): number {
  let start = -1;
  let isAnswered = false;
  for (const [back, { role, content }] of turns.toReversed().entries()) {
    const at = turns.length - 1 - back;
    if (role === 'assistant') {
      if (!isAnswered) break;
      start = at;
      continue;
    }
    if (turns[at + 1]?.role === 'assistant') isAnswered = false;
    isAnswered ||= Array.isArray(content) && content.some(isResult);
  }
  return start;
}

/**
 * True if the model's turn that waits for results does not begin with a thought. With a budget for thoughts, Claude refuses
 * that. Only the beginning counts: a model that does not think between its calls makes the later ones without a thought.
 */
export function breaksToolLoop<Block>(turns: readonly Turn<Block>[], kinds: Kinds<Block>): boolean {
  const content = turns[loopStart(turns, kinds)]?.content;
  return Array.isArray(content) && content.length > 0 && !kinds.isThought(content[0]);
}

/** Removes the thoughts of the turn that waits for results: Claude refuses them there while it may not think. True: some went. */
export function dropLoopThoughts<Block>(turns: { role: string; content: Block[] }[], kinds: Kinds<Block>): boolean {
  const start = loopStart(turns, kinds);
  let dropped = false;
  for (const turn of start < 0 ? [] : turns.slice(start)) {
    const others = turn.content.filter((block) => !kinds.isThought(block));
    dropped ||= others.length < turn.content.length;
    turn.content = others;
  }
  return dropped;
}

/** Removes thoughts at the end of the model's last turn, and a turn of nothing else. Claude refuses them. True: some went. */
export function dropLastThoughts<Block>(
  turns: { role: string; content: Block[] }[],
  { isThought }: Kinds<Block>,
): boolean {
  const last = turns.at(-1);
  if (last?.role !== 'assistant') return false;
  const end = last.content.findLastIndex((block) => !isThought(block)) + 1;
  if (end === last.content.length) return false;
  if (end === 0) turns.pop();
  else last.content = last.content.slice(0, end);
  return true;
}
