import { Duplex } from 'node:stream';

/** Two ends of a connection without a socket. Either end's death is the other's. */
export function connectionPair(): [Duplex, Duplex] {
  const client = new End();
  const server = new End();
  client.other = server;
  server.other = client;
  return [client, server];
}

class End extends Duplex {
  other: End | null = null;
  #taken: (() => void) | null = null;

  override _read(): void {
    const taken = this.#taken;
    this.#taken = null;
    taken?.();
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error) => void): void {
    this.#pass(chunk, done);
  }

  override _final(done: (error?: Error) => void): void {
    this.#pass(null, done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    const { other } = this;
    this.other = null;
    // In a later turn, as a network would: what was written before is read first.
    if (other !== null && !other.destroyed) setImmediate(() => other.destroy());
    done(error);
  }

  #pass(chunk: Buffer | null, done: (error?: Error) => void): void {
    const { other } = this;
    if (other === null || other.destroyed)
      return done(chunk === null ? undefined : new Error('the connection is closed'));
    if (other.push(chunk) || chunk === null) done();
    else other.#taken = done;
  }

  resetAndDestroy(): this {
    return this.destroy();
  }

  // Node's client asks these of every connection.
  setTimeout(): this {
    return this;
  }
  setNoDelay(): this {
    return this;
  }
  setKeepAlive(): this {
    return this;
  }
  ref(): this {
    return this;
  }
  unref(): this {
    return this;
  }
}
