/** Writer of stderr: the thread for a moment, or nobody any more. The second number says whether a line is shown. */
export const lineState = { idle: 0, writing: 1, over: 2 } as const;

/** A command that ends earlier shows none. */
const firstLineAfterMs = 2_000;
const lineIntervalMs = 5_000;

/**
 * Text to write now of a command that has taken `elapsedMs`; null: nothing. `width` is of the terminal, null for none;
 * `writtenMs` is when the last line was written.
 */
export function progressLine(
  text: string,
  elapsedMs: number,
  { width, writtenMs }: { width: number | null; writtenMs: number | null },
): string | null {
  if (text === '' || elapsedMs < firstLineAfterMs) return null;
  const line = `${text}, ${Math.floor(elapsedMs / 1_000)} s`;
  if (width !== null) return `\r${line.slice(0, width - 1)}\u001b[K`;
  return writtenMs === null || elapsedMs - writtenMs >= lineIntervalMs ? `${line}\n` : null;
}
