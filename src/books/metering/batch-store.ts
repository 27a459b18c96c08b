import type { JobStore, Lease } from '../../kernel/leased-jobs.ts';

/**
 * The port of uploaded files and of batches, with a row for each line that was begun. Its store, over both
 * databases, is in stores/answers. What callers wrote and models answered is encrypted before it comes here. One process
 * at a time works at a batch, under a lease; a process that lost the lease writes nothing any more.
 */
export interface BatchStore extends JobStore<BatchRow> {
  /** Nobody finds a file before it is complete. */
  putFile(row: FileRow): Promise<void>;
  /** Says how long an incomplete file is about to become. False: it is not, or its length is not `was` any more. */
  growFile(id: string, bytes: number, was: number): Promise<boolean>;
  completeFile(id: string): Promise<void>;
  /** Gives a file another end, with facts that say so. */
  renewFile(id: string, expiresMs: number, facts: Uint8Array): Promise<void>;
  /** Gives a file other facts, unless it has others than `was` by now: then it is false, and nothing changes. */
  replaceFacts(id: string, was: Uint8Array, facts: Uint8Array): Promise<boolean>;
  findFile(tenant: string, id: string, nowMs: number): Promise<FileRow | null>;
  /** A file that is not complete yet. */
  findUnfinished(tenant: string, id: string): Promise<FileRow | null>;
  listFiles(listed: ListedFiles): Promise<FileRow[]>;
  removeFile(id: string): Promise<void>;
  /** Files that expired, and incomplete ones from before `unfinishedMs`. */
  expiredFiles(nowMs: number, unfinishedMs: number, limit: number): Promise<FileRow[]>;
  putChunk(file: string, seq: number, content: Uint8Array): Promise<void>;
  chunk(file: string, seq: number): Promise<Uint8Array | null>;
  removeChunks(file: string): Promise<void>;

  /** `full`: the tenant has `openMax` that have not ended. */
  createBatch(row: NewBatch, openMax: number): Promise<'created' | 'full'>;
  findBatch(tenant: string, id: string, nowMs: number): Promise<BatchRow | null>;
  listBatches(listed: ListedBatches): Promise<BatchRow[]>;
  /** Resolves to whether a batch that has not ended reads this file. */
  isRead(file: string): Promise<boolean>;
  /** Asks the process that works on it to stop. A batch that has ended stays as it is. */
  cancel(tenant: string, id: string, nowMs: number): Promise<void>;
  /** Removes a batch that has ended, with its lines. */
  removeBatch(tenant: string, id: string): Promise<void>;

  /** The number of its lines is known. False when the lease is lost, here and below. */
  counted(lease: Lease, total: number, nowMs: number): Promise<boolean>;
  /** Lines that were begun, in their order, from behind `after` on (0: the first). */
  lines(batch: string, after: number, limit: number): Promise<BegunLine[]>;
  /**
   * Notes lines that are about to be asked, and those that have ended, at once. Resolves to the lines of `begun` that were
   * refused, because another line has their key; null when the lease is lost.
   */
  note(lease: Lease, begun: readonly BegunNow[], ended: readonly EndedLine[]): Promise<ReadonlySet<number> | null>;
  /** Writes the lines at providers into a batch's facts, and their expected use. */
  away(lease: Lease, away: AwayLines): Promise<boolean>;
  /** Answers that a provider's batch gave to lines of this part, kept until they are read. False when the lease is lost. */
  returned(lease: Lease, part: number, lines: readonly ReturnedLine[]): Promise<boolean>;
  /** Sealed; null: there is none. */
  returnedLine(batch: string, seq: number): Promise<Uint8Array | null>;
  /** Lines of this part that have no answer are no longer at the provider. */
  releaseLines(lease: Lease, part: number): Promise<boolean>;
  /** Expected use of the lines at providers, over all batches of an account. */
  expected(account: string): Promise<ExpectedUse>;
  /** Results in the order of the lines, from behind `after` on. */
  results(batch: string, after: number, limit: number): Promise<LineResult[]>;
  finalizing(lease: Lease, nowMs: number): Promise<boolean>;
  /** Completes its files of results too. */
  end(lease: Lease, end: BatchEnd): Promise<boolean>;
  /** Removes some lines of batches that have ended: asked again until none is left (0). */
  removeLines(limit: number): Promise<number>;
  /** Removes batches whose time is over; resolves to how many. */
  removeExpired(nowMs: number): Promise<number>;
  close(): Promise<void>;
}

export interface TenantRow {
  id: string;
  tenant: string;
  createdMs: number;
  /** Sealed. */
  facts: Uint8Array;
}

/** `facts`: its name. */
export interface FileRow extends TenantRow {
  purpose: string;
  bytes: number;
  expiresMs: number;
}

export interface Listed {
  tenant: string;
  order: 'asc' | 'desc';
  /** Id of the last of the page before; null: from the beginning. */
  after: string | null;
  limit: number;
  nowMs: number;
}

export interface ListedFiles extends Listed {
  /** Only these are shown. */
  purposes: readonly string[];
}

export interface ListedBatches extends Listed {
  format: BatchFormat;
}

/** The vendor whose API it came by. */
export type BatchFormat = 'openai' | 'anthropic' | 'gemini';

export interface NewBatch extends TenantRow {
  account: string;
  /** Owner of the quota that pays. */
  keyId: string;
  format: BatchFormat;
  /** The path that its lines are for. */
  endpoint: string;
  inputFile: string;
  /** Time after which lines without an answer are not requested any more. */
  deadlineMs: number;
}

/** `failed`: its file cannot be read as a batch. */
export type BatchEnding = 'completed' | 'failed' | 'expired' | 'cancelled';

export interface BatchRow extends NewBatch {
  /** Null until it has ended. */
  ending: BatchEnding | null;
  /** Lines; null until they were counted. */
  total: number | null;
  succeeded: number;
  errored: number;
  countedMs: number | null;
  cancellingMs: number | null;
  finalizingMs: number | null;
  endedMs: number | null;
  outputFile: string | null;
  errorFile: string | null;
  /** Lines that were answered as of the last look at the providers' batches, those that are not here yet included. */
  aheadSucceeded: number;
}

/** Use of lines at providers; in whole tokens and nano-USD. */
export interface ExpectedUse {
  tokens: number;
  usdNano: number;
}

export interface AwayLines {
  /** Sealed, as all facts of the batch. */
  facts: Uint8Array;
  expected: ExpectedUse;
  aheadSucceeded: number;
}

/** Sealed; of the line and the request that were sent. */
export interface ReturnedLine {
  seq: number;
  requestId: string;
  answer: Uint8Array;
}

export interface BatchEnd {
  ending: BatchEnding;
  atMs: number;
  expiresMs: number;
  outputFile: string | null;
  errorFile: string | null;
  /** Null: as they were. */
  facts: Uint8Array | null;
}

export interface BegunLine {
  seq: number;
  /** Our id of the request that was made, or was about to be. */
  requestId: string;
  ended: boolean;
  /** The part of the batch that a provider has it in; null: none. */
  part: number | null;
  /** Its answer from there is kept here. */
  returned: boolean;
}

export interface BegunNow {
  seq: number;
  requestId: string;
  /** Digest of the name that no other line of the batch may have; null: noted before, under another request. */
  key: string | null;
  /** It goes to a provider in this part of the batch; null: it is asked from here. */
  part: number | null;
}

export interface EndedLine {
  seq: number;
  requestId: string;
  state: 'succeeded' | 'errored';
  /** Sealed; and its length before. */
  result: Uint8Array;
  bytes: number;
}

export type LineResult = Pick<EndedLine, 'seq' | 'state' | 'result'>;
