/** Short texts between replicas that may be lost, such as what one has learnt of upstreams. Never rejects. */
export interface HintChannel {
  send(text: string): void;
  /** From now on `take` gets what others tell, and what this process tells. */
  listen(take: (text: string) => void): void;
}
