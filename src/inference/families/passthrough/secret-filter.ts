const redacted = Buffer.from('[redacted]');
/** A shorter one would be found in what is none. */
const secretCharsMin = 8;

/** Takes a provider's secrets out of a stream of bytes, also where a chunk ends within one. */
export class SecretFilter {
  readonly #secrets: readonly Buffer[];
  /** The end of what came, which may be the beginning of a secret. */
  #rest: Buffer = Buffer.alloc(0);

  constructor(secrets: readonly string[]) {
    this.#secrets = secrets.filter((secret) => secret.length >= secretCharsMin).map((secret) => Buffer.from(secret));
  }

  /** The bytes that may go on; empty while it is not sure. */
  push(chunk: Buffer): Buffer {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const clean = this.#secrets.reduce(without, bytes);
    const held = Math.max(0, ...this.#secrets.map((secret) => beginningAtEnd(clean, secret)));
    this.#rest = clean.subarray(clean.length - held);
    return clean.subarray(0, clean.length - held);
  }

  end(): Buffer {
    return this.#rest;
  }
}

function without(bytes: Buffer, secret: Buffer): Buffer {
  const parts: Buffer[] = [];
  let from = 0;
  for (let at = bytes.indexOf(secret); at !== -1; at = bytes.indexOf(secret, from)) {
    parts.push(bytes.subarray(from, at), redacted);
    from = at + secret.length;
  }
  return parts.length === 0 ? bytes : Buffer.concat([...parts, bytes.subarray(from)]);
}

/** How many of the last bytes are the beginning of `secret`. */
function beginningAtEnd(bytes: Buffer, secret: Buffer): number {
  for (let length = Math.min(bytes.length, secret.length - 1); length > 0; length -= 1) {
    if (bytes.subarray(bytes.length - length).equals(secret.subarray(0, length))) return length;
  }
  return 0;
}
