import { LeastRecent } from './least-recent.ts';

/** A collection's part of a room. */
export interface RoomUser {
  /** Gives all that it holds back, by `gave`. */
  clear(): void;
}

/** Memory that the collections of a thread share for rows that they have read. The one used least recently gives its part back. */
export class SharedRoom {
  readonly #bytesMax: number;
  readonly #users = new LeastRecent<RoomUser>();
  /** Many rows of one search come one after the other. */
  #last: RoomUser | null = null;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  used(user: RoomUser): void {
    if (this.#last !== user) this.#users.use(user);
    this.#last = user;
  }

  /** Whether `user`, which was used last, may take more; others give theirs back for it. */
  hasRoom(user: RoomUser): boolean {
    while (this.#bytes >= this.#bytesMax) {
      const other = this.#users.takeBesides(user);
      if (other === null) return false;
      other.clear();
    }
    return true;
  }

  took(bytes: number): void {
    this.#bytes += bytes;
  }

  gave(bytes: number): void {
    this.#bytes -= bytes;
  }

  closed(user: RoomUser): void {
    user.clear();
    this.#users.delete(user);
    if (this.#last === user) this.#last = null;
  }
}
