import { every } from '../every.ts';
import { withinMs } from '../within-ms.ts';

/** Items of a queue in a store, each leased to this process until it is delivered or put off. The queue survives the process. */
export interface Deliveries {
  /** Looks for due items now; resolves when all that are due are dealt with. Never rejects. */
  look(): Promise<void>;
  start(): void;
  /** Nothing is begun any more; resolves when nothing is under way, or after a second. */
  stop(): Promise<void>;
}

export interface DeliveriesParts<Item> {
  /** Leases due items, at most `limit`, by turns of the receivers; none of the receivers in `without`. */
  take(limit: number, without: readonly string[]): Promise<readonly Item[]>;
  /** Receiver of an item, of which only some are under way at once: while it hangs, those of others go out. */
  receiverOf(item: Item): string;
  /** Where it rejects, the item comes again when its lease is over. */
  deliver(item: Item, isStopped: () => boolean): Promise<void>;
  atOnceMax: number;
  ofReceiverMax: number;
  /** Why an item was not dealt with; null: the queue cannot be read, which is reported once. */
  onTrouble(error: unknown, item: Item | null): void;
}

/** Maximum time that a stop waits for running tries. One that is cut comes again, with its id, when its lease ends. */
const stopWaitMs = 1_000;
const lookIntervalMs = 5_000;

export function createDeliveries<Item>(parts: DeliveriesParts<Item>): Deliveries {
  const { atOnceMax, ofReceiverMax, onTrouble } = parts;
  let stopLooking: (() => void) | null = null;
  let stopped = false;
  let taking: Promise<void> | null = null;
  let takeAgain = false;
  /** The last look may have left some for want of room: the next try that ends looks again. */
  let moreWait = false;
  let inTrouble = false;
  const underWay = new Set<Promise<void>>();
  /** Number of them for each receiver. */
  const ofReceivers = new Map<string, number>();

  async function takeDue(): Promise<void> {
    while (takeAgain && !stopped) {
      takeAgain = false;
      const free = atOnceMax - underWay.size;
      if (free === 0) return;
      // The more are under way, the fewer of one receiver: several that hang leave places to others.
      const isFull = (tries: number) => tries >= Math.min(ofReceiverMax, free);
      const full = [...ofReceivers].filter(([, tries]) => isFull(tries)).map(([receiver]) => receiver);
      const most = Math.max(0, ...[...ofReceivers.values()].filter((tries) => !isFull(tries)));
      // All of them may be of one receiver.
      const due = await parts.take(Math.min(ofReceiverMax - most, Math.floor((free - most + 1) / 2)), full);
      moreWait = full.length > 0 || due.length > 0;
      // A call of look() meanwhile may be for one that came after the question.
      takeAgain ||= due.length > 0;
      for (const item of due) begin(item);
      inTrouble = false;
    }
  }

  function begin(item: Item): void {
    const receiver = parts.receiverOf(item);
    ofReceivers.set(receiver, (ofReceivers.get(receiver) ?? 0) + 1);
    const delivering = parts
      .deliver(item, () => stopped)
      .catch((error: unknown) => {
        if (!stopped) onTrouble(error, item);
      })
      .finally(() => {
        underWay.delete(delivering);
        const left = (ofReceivers.get(receiver) ?? 1) - 1;
        if (left > 0) ofReceivers.set(receiver, left);
        else ofReceivers.delete(receiver);
        if (moreWait) void look();
      });
    underWay.add(delivering);
  }

  async function look(): Promise<void> {
    if (stopped) return;
    takeAgain = true;
    taking ??= takeDue()
      .catch((error: unknown) => {
        if (!inTrouble && !stopped) onTrouble(error, null);
        inTrouble = true;
      })
      .finally(() => {
        taking = null;
        if (takeAgain) void look();
      });
    await taking;
    while (underWay.size > 0) {
      await Promise.all(underWay);
      await taking;
    }
  }

  return {
    look,
    start() {
      void look();
      stopLooking = every(lookIntervalMs, () => void look());
    },
    async stop() {
      stopped = true;
      stopLooking?.();
      await withinMs(stopWaitMs, Promise.all([taking, ...underWay]), null);
    },
  };
}
