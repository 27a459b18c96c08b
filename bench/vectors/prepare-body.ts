import { batchPoints, dimensions, payloadOf } from './points.ts';

/** The call that writes these points under other ids each time. */
export function prepareBody(vectors: Float32Array, firstRow = 0): (firstId: number) => Buffer {
  const idDigits = 9;
  const first = 10 ** (idDigits - 1);
  const places: number[] = [];
  const parts: Buffer[] = [Buffer.from('{"points":[')];
  let length = parts[0]!.length;
  const add = (text: string) => {
    const part = Buffer.from(text);
    parts.push(part);
    length += part.length;
  };
  for (let row = 0; row < batchPoints; row++) {
    add(`${row === 0 ? '' : ','}{"id":`);
    places.push(length);
    const vector = Array.from(vectors.subarray(row * dimensions, (row + 1) * dimensions), (value) => value.toFixed(6));
    add(`${first},"vector":[${vector.join(',')}],"payload":${payloadOf(firstRow + row)}}`);
  }
  add(']}');
  const body = Buffer.concat(parts);
  return (firstId) => {
    for (const [row, place] of places.entries()) body.write(String(first + firstId + row), place, 'latin1');
    return body;
  };
}
