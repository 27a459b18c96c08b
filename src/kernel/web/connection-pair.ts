import { type Duplex, duplexPair } from 'node:stream';

/** Two ends of a connection without a socket. Either end's death is the other's. */
export function connectionPair(): [Duplex, Duplex] {
  const [client, server] = duplexPair();
  join(client, server);
  join(server, client);
  return [client, server];
}

function join(end: Duplex, other: Duplex): void {
  Object.assign(end, asSocket);
  // In a later turn, as a network would: what was written before is read first.
  end.once('close', () => setImmediate(() => other.destroy()));
}

function itself<T>(this: T): T {
  return this;
}

/** Node's client and server ask these of every connection. */
const asSocket = {
  setTimeout: itself,
  setNoDelay: itself,
  setKeepAlive: itself,
  ref: itself,
  unref: itself,
  resetAndDestroy(this: Duplex): Duplex {
    return this.destroy();
  },
};
