/** Users of something, in order of their last use. */
export class LeastRecent<T> implements Iterable<T> {
  readonly #users = new Set<T>();

  use(user: T): void {
    this.#users.delete(user);
    this.#users.add(user);
  }

  delete(user: T): void {
    this.#users.delete(user);
  }

  /** Takes out the one used least recently, `user` aside; null when there is none. */
  takeBesides(user: T): T | null {
    for (const other of this.#users) {
      if (other === user) continue;
      this.#users.delete(other);
      return other;
    }
    return null;
  }

  [Symbol.iterator](): Iterator<T> {
    return this.#users[Symbol.iterator]();
  }
}
