import type { Failure } from '../failure.ts';
import type { Elsewhere } from './elsewhere.ts';

/** Bytes of all holders together, and those of one account. Passing either bound gives 503. */
export interface RoomBounds {
  bytesMax: number;
  accountBytesMax: number;
}

/** Room for bytes that all callers share. It counts bytes as they come, never as they are announced. */
export interface Room {
  hold(account: string): RoomHold;
  /** Bytes of all holders of this process. */
  readonly bytes: number;
  /** Bytes of one account's holders, in all processes of the server. */
  bytesOf(account: string): number;
}

/** Share of a room that one request, or one upload, has. */
export interface RoomHold {
  /** Takes room for bytes that came; a Failure (503), and nothing taken, where there is none. */
  take(bytes: number): Failure | null;
  /** Counts bytes that are there already and cannot be refused: they keep others out. */
  add(bytes: number): void;
  /** Gives everything back. Bytes taken later count nowhere. */
  giveBack(): void;
}

/**
 * `what` names the bytes in refusals, such as `request bodies`; `bounds` may change while it is used. `elsewhere`: what
 * other processes hold counts, too.
 */
export function createRoom(what: string, bounds: () => RoomBounds, elsewhere: Elsewhere | null = null): Room {
  return new SharedRoom(what, bounds, elsewhere);
}

interface AccountBytes {
  name: string;
  bytes: number;
  holds: number;
}

class SharedRoom implements Room {
  bytes = 0;
  readonly what: string;
  readonly bounds: () => RoomBounds;
  readonly elsewhere: Elsewhere | null;
  /** Accounts that hold any. */
  readonly accounts = new Map<string, AccountBytes>();

  constructor(what: string, bounds: () => RoomBounds, elsewhere: Elsewhere | null) {
    this.what = what;
    this.bounds = bounds;
    this.elsewhere = elsewhere;
  }

  hold(name: string): RoomHold {
    let account = this.accounts.get(name);
    if (account === undefined) {
      account = { name, bytes: 0, holds: 0 };
      this.accounts.set(name, account);
    }
    account.holds += 1;
    return new Hold(this, account);
  }

  readonly bytesOf = (name: string): number =>
    (this.accounts.get(name)?.bytes ?? 0) + (this.elsewhere?.held(`${this.what} of ${name}`) ?? 0);

  /** Tells other processes what this one holds. */
  report(elsewhere: Elsewhere, { name, bytes }: AccountBytes): void {
    const { bytesMax, accountBytesMax } = this.bounds();
    elsewhere.report(this.what, this.bytes, bytesMax);
    elsewhere.report(`${this.what} of ${name}`, bytes, accountBytesMax);
  }
}

class Hold implements RoomHold {
  private readonly room: SharedRoom;
  private readonly account: AccountBytes;
  private mine = 0;
  private state: 'held' | 'given-back' = 'held';

  constructor(room: SharedRoom, account: AccountBytes) {
    this.room = room;
    this.account = account;
  }

  take(bytes: number): Failure | null {
    const { what, bounds, elsewhere } = this.room;
    const { bytesMax, accountBytesMax } = bounds();
    const heldByAccount = elsewhere === null ? this.account.bytes : this.room.bytesOf(this.account.name);
    // Checked first: the account's callers can do something about it, whatever else fills the room.
    if (heldByAccount + bytes > accountBytesMax) return shareUsed(what, accountBytesMax);
    const held = elsewhere === null ? this.room.bytes : this.room.bytes + elsewhere.held(what);
    if (held + bytes > bytesMax) return full(what, bytesMax);
    this.add(bytes);
    return null;
  }

  add(bytes: number): void {
    if (this.state === 'given-back') return;
    this.mine += bytes;
    this.account.bytes += bytes;
    this.room.bytes += bytes;
    if (this.room.elsewhere !== null) this.room.report(this.room.elsewhere, this.account);
  }

  giveBack(): void {
    if (this.state === 'given-back') return;
    this.add(-this.mine);
    this.state = 'given-back';
    this.account.holds -= 1;
    if (this.account.holds === 0) this.room.accounts.delete(this.account.name);
  }
}

function full(what: string, bytesMax: number): Failure {
  const message = `This server holds as many bytes of ${what} as it accepts at once (${bytesMax}). Retry shortly.`;
  return { kind: 'overloaded', message };
}

function shareUsed(what: string, bytesMax: number): Failure {
  const message = `Your account has as many bytes of ${what} as one account may have at once (${bytesMax}). Retry when other requests of it have ended, or send fewer at once.`;
  return { kind: 'overloaded', message };
}
