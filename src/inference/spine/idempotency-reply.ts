import type { HeaderList } from './sink.ts';

/** A whole reply as it is kept for a repeat of its request. */
export interface KeptReply {
  headers: HeaderList;
  body: Buffer;
}

const lengthBytes = 4;

/** Length of the headers' JSON, the JSON, the body as it is. */
export function packReply({ headers, body }: KeptReply): Buffer {
  const head = Buffer.from(JSON.stringify(ofTheAnswer(headers)));
  const length = Buffer.alloc(lengthBytes);
  length.writeUInt32BE(head.length);
  return Buffer.concat([length, head, body]);
}

/** `packed` comes from `packReply`: nothing is checked again. */
export function unpackReply(packed: Buffer): KeptReply {
  const bodyAt = lengthBytes + packed.readUInt32BE(0);
  const headers = JSON.parse(packed.toString('utf8', lengthBytes, bodyAt)) as HeaderList;
  return { headers, body: packed.subarray(bodyAt) };
}

/** What says how the answer came about. Limits are left out: a repeat is told of them as they stand by then. */
function ofTheAnswer(headers: HeaderList): HeaderList {
  const kept: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!;
    if (name.startsWith('x-culvert-') || name.startsWith('content-')) kept.push(name, headers[i + 1]!);
  }
  return kept;
}
