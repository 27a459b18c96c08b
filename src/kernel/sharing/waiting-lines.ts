/** One tenant: what it holds, and its waiting requests. */
export interface Line<Place> {
  held: number;
  readonly waiting: Waiter<Place>[];
  waitingBytes: number;
}

export interface Waiter<Place> {
  readonly bytes: number;
  begin(place: Place): void;
  refuse(reason: unknown): void;
}

export interface LineBounds {
  /** Plural, the subject of refusals: `Pages to be read`. */
  name: string;
  waitingMax: number;
  /** Most that wait of one tenant. Default: half of `waitingMax`. */
  tenantWaitingMax?: number;
  /** Bytes of all waiting requests; one tenant may have half. A larger request waits alone. Default: without bound. */
  waitingBytesMax?: number;
}

/** Lines for places, one for each tenant: how many may wait, and how one leaves. */
export class WaitingLines<Place, Tenant extends Line<Place>> {
  readonly #bounds: Required<LineBounds>;
  readonly #lines = new Set<Tenant>();
  /** The tenants with waiting requests. */
  readonly all: ReadonlySet<Tenant> = this.#lines;
  #waiting = 0;
  #waitingBytes = 0;

  constructor({ name, waitingMax, tenantWaitingMax, waitingBytesMax }: LineBounds) {
    this.#bounds = {
      name,
      waitingMax,
      tenantWaitingMax: tenantWaitingMax ?? Math.max(1, Math.floor(waitingMax / 2)),
      waitingBytesMax: waitingBytesMax ?? Number.POSITIVE_INFINITY,
    };
  }

  /** Null: one more may wait, who needs `bytes` meanwhile. `heldByAll`: places that all tenants hold. */
  whyFull(tenant: Tenant, heldByAll: number, bytes: number): string | null {
    const { name, waitingMax, tenantWaitingMax, waitingBytesMax } = this.#bounds;
    const mine = tenant.waiting.length;
    if (mine >= tenantWaitingMax || (mine > 0 && tenant.waitingBytes + bytes > waitingBytesMax / 2))
      return `${name}: ${mine + tenant.held} of this key are running or waiting, as many as one key may have. Retry shortly, or send fewer at once.`;
    if (this.#waiting >= waitingMax || (this.#waiting > 0 && this.#waitingBytes + bytes > waitingBytesMax))
      return `${name}: ${this.#waiting + heldByAll} of all callers are running or waiting, as many as there may be. Retry shortly.`;
    return null;
  }

  /** A place, once this line's turn has come. Rejects with the signal's reason, or as `refuse` says. */
  wait(tenant: Tenant, signal: AbortSignal | null, bytes: number): Promise<Place> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#leave(tenant, waiter);
        reject(signal?.reason);
      };
      const waiter: Waiter<Place> = {
        bytes,
        begin(place) {
          signal?.removeEventListener('abort', leave);
          resolve(place);
        },
        refuse(reason) {
          signal?.removeEventListener('abort', leave);
          reject(reason);
        },
      };
      signal?.addEventListener('abort', leave, { once: true });
      tenant.waiting.push(waiter);
      tenant.waitingBytes += bytes;
      this.#waitingBytes += bytes;
      this.#waiting += 1;
      this.#lines.add(tenant);
    });
  }

  /** Takes the one who came first out of this tenant's line. The tenant is one of `all`. */
  first(tenant: Tenant): Waiter<Place> {
    const [waiter] = tenant.waiting;
    this.#leave(tenant, waiter!);
    return waiter!;
  }

  /** Rejects all that wait. */
  refuse(reason: Error): void {
    for (const tenant of [...this.#lines]) while (tenant.waiting.length > 0) this.first(tenant).refuse(reason);
  }

  #leave(tenant: Tenant, waiter: Waiter<Place>): void {
    tenant.waiting.splice(tenant.waiting.indexOf(waiter), 1);
    tenant.waitingBytes -= waiter.bytes;
    this.#waitingBytes -= waiter.bytes;
    this.#waiting -= 1;
    if (tenant.waiting.length === 0) this.#lines.delete(tenant);
  }
}
