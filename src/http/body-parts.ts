/** What has come of a body, on its way to be one piece of memory. */
export interface BodyParts {
  /** The chunk may be empty afterwards: it belongs to the parts. */
  add(chunk: Buffer): void;
  /** Once, at the end. */
  whole(): Buffer;
  /** Once, instead of `whole`: memory of its own is free at once. */
  giveBack(): void;
}

/** From here on a body is put together as it comes: all at once its copy would hold up the loop for milliseconds. */
const inPlaceBytes = 1024 * 1024;
/** Memory for a declared length is taken when this part of it has come: who only declares one has none. */
const partBeforeMemory = 1 / 16;

/** `memory` gives what a large body of a declared length is put together in, and is the giver's. Default: its own. */
export function bodyParts(declaredBytes: number | null, memory?: (bytes: number) => Buffer): BodyParts {
  return declaredBytes !== null && declaredBytes > inPlaceBytes ? inPlace(declaredBytes, memory) : inChunks();
}

/**
 * Memory that nobody looks at any more. Left to V8, what is read of large bodies makes it collect the whole heap again and
 * again while they come.
 */
export function free({ buffer, byteLength }: Buffer): void {
  if (buffer.byteLength === byteLength && buffer instanceof ArrayBuffer) buffer.transfer(0);
}

function inChunks(): BodyParts {
  const chunks: Buffer[] = [];
  return {
    add: (chunk) => void chunks.push(chunk),
    whole: () => (chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)),
    giveBack: () => chunks.forEach(free),
  };
}

function inPlace(declaredBytes: number, memory?: (bytes: number) => Buffer): BodyParts {
  const bytesBefore = Math.max(inPlaceBytes, declaredBytes * partBeforeMemory);
  const begin = () => memory?.(declaredBytes) ?? Buffer.allocUnsafeSlow(declaredBytes);
  /** What came before there was memory. */
  const waiting: Buffer[] = [];
  let waitingAt = 0;
  let body: Buffer | null = null;
  let at = 0;

  /** Places so many of those that wait: each chunk takes as much along, so that they never go all in one turn. */
  function catchUp(into: Buffer, bytes: number): void {
    const to = waitingAt + bytes;
    while (waiting.length > 0 && waitingAt < to) {
      const chunk = waiting.shift()!;
      waitingAt += chunk.copy(into, waitingAt);
      free(chunk);
    }
  }

  return {
    add(chunk) {
      if (body === null) {
        waiting.push(chunk);
        at += chunk.length;
        if (at >= bytesBefore) body = begin();
        return;
      }
      at += chunk.copy(body, at);
      catchUp(body, chunk.length);
      free(chunk);
    },
    whole() {
      body ??= begin();
      catchUp(body, at);
      // Node ends a request before its declared length only where the caller has gone.
      return at === body.length ? body : body.subarray(0, at);
    },
    giveBack() {
      waiting.forEach(free);
      if (body !== null && memory === undefined) free(body);
    },
  };
}
