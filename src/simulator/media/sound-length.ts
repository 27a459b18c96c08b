/** Rate of most compressed audio; a guess is enough, because nobody listens. */
const usualBytesPerSecond = 16_000;
const secondsMin = 0.1;

/** How long a sound lasts: from a wav's header, else guessed by its size. `head`: its first bytes. */
export function secondsOfSound(head: Buffer, bytes: number): number {
  const isWav =
    head.length >= 44 && head.toString('latin1', 0, 4) === 'RIFF' && head.toString('latin1', 8, 12) === 'WAVE';
  const bytesPerSecond = isWav ? head.readUInt32LE(28) : 0;
  const seconds = bytesPerSecond > 0 ? (bytes - 44) / bytesPerSecond : bytes / usualBytesPerSecond;
  return Math.max(secondsMin, Math.round(seconds * 1_000) / 1_000);
}
