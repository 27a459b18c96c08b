/** Text of a body. Rejects above `bytesMax`, before all of it is in memory. */
export async function boundedText({ body }: Response, bytesMax: number): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of body ?? []) {
    bytes += piece.length;
    if (bytes > bytesMax) throw new Error(`the answer has more than ${bytesMax} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}
