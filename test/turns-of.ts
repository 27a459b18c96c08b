/** Does `work`, and counts the turns of the loop that others have meanwhile. `turns` is their number up to now. */
export async function countingTurns<T>(
  work: (turns: () => number) => Promise<T>,
): Promise<{ result: T; turns: number }> {
  let turns = 0;
  let counting: NodeJS.Immediate;
  const turn = () => {
    turns += 1;
    counting = setImmediate(turn);
  };
  counting = setImmediate(turn);
  try {
    const result = await work(() => turns);
    return { result, turns };
  } finally {
    clearImmediate(counting);
  }
}
