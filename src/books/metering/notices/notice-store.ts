/** The port of notices: what was reported of a window, and what is still to be delivered. */
export interface NoticeStore {
  /**
   * Notes that a limit is above a share, or that a month is over, and queues the notice with it, in one commit. False if
   * that crossing is known already, no matter which process noted it.
   */
  cross(crossing: Crossing, notice: Notice): Promise<boolean>;
  /** The limit has fallen back, so the next crossing is reported again. */
  rearm(scope: string, limit: string, share: number): Promise<void>;
  /** Crossings of one scope. */
  crossed(scope: string): Promise<readonly Crossing[]>;
  /** All crossings, page by page: `limit` of them behind this one, in an order that stays. Null: from the first. */
  crossings(behind: Omit<Crossing, 'crossedMs'> | null, limit: number): Promise<readonly Crossing[]>;
  /**
   * Notices whose next try is due, leased to this caller until `leaseUntilMs`: in turns by plan, of each the oldest first.
   * Those of the plans `but` stay where they are.
   */
  due(nowMs: number, leaseUntilMs: number, limit: number, but?: readonly string[]): Promise<readonly Notice[]>;
  /** Another try at `nextMs`. `reason`: why the last one failed. */
  retry(id: string, failed: { tries: number; nextMs: number; reason: string }): Promise<void>;
  /** The notice leaves the queue, and is kept in the history. */
  end(id: string, ended: EndedNotice): Promise<void>;
  /** The queue and the history together, newest first; `before`: those after this one in that order. */
  list(query: NoticeQuery): Promise<readonly ListedNotice[]>;
}

export interface EndedNotice {
  state: 'delivered' | 'given_up' | 'dropped';
  tries: number;
  /** Null: it was delivered. */
  reason: string | null;
  endedMs: number;
}

export interface NoticeQuery {
  limit: number;
  before: Pick<Notice, 'id' | 'createdMs'> | null;
  /** Only those whose `plan` begins with this text, or only those of plans, whose names have no space; null: all. */
  plans: { beginWith: string } | 'quota' | null;
}

export interface Crossing {
  scope: string;
  limit: string;
  /** 0 to 1. */
  share: number;
  crossedMs: number;
}

export interface Notice {
  /** `msg_…`: the webhook-id, the same at every try. */
  id: string;
  plan: string;
  /** JSON text, as it is signed and posted. */
  body: string;
  createdMs: number;
  tries: number;
}

/** `nextMs`: while it waits, its next try. `reason`: why the last try failed. */
export interface ListedNotice extends Notice, Pick<EndedNotice, 'reason'> {
  state: 'waiting' | EndedNotice['state'];
  nextMs: number | null;
  endedMs: number | null;
}
