/** The measured engines, each in this process and this thread. */
export interface Engine {
  name: string;
  /** Durable when it resolves, where the engine knows durability. */
  write(from: number, vectors: Float32Array, payloads: readonly string[]): Promise<void> | void;
  /** Ids, best first. `group`: only points of it. */
  search(query: Float32Array, k: number, group: number | null): Promise<number[]> | number[];
  close(): Promise<void> | void;
}
