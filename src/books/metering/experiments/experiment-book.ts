/** Feedback of a caller on an answer: one value for each metric. */
export interface Feedback {
  requestId: string;
  metric: string;
  value: number | boolean;
  comment: string | null;
  /** Time when it came; a later value of a metric replaces an earlier one. */
  atMs: number;
}

/** The request that it is about, for results. */
export interface RatedRequest {
  account: string;
  alias: string;
  variant: string | null;
  atMs: number;
}

export interface ResultsQuery {
  alias: string;
  /** Null: all accounts; []: none. */
  accounts: readonly string[] | null;
  /** Wall-clock ms of arrival; `toMs` itself is not in. */
  fromMs: number;
  toMs: number;
  /** Names so many of the busiest accounts of these variants, or of their callers, in `by`. Absent: it is null. */
  apart?: { by: 'account' | 'caller'; variants: readonly string[]; count: number };
}

/** Requests of a variant with one time to the first token: together they are its distribution. */
export interface VariantTimes {
  /** Null: the model had no variants then. */
  variant: string | null;
  /** From 10 s on in steps of 100 ms; null: no token came, or it came from a cache. */
  firstTokenMs: number | null;
  requests: number;
  /** Requests whose class is not `ok`. */
  errors: number;
  /** Errors with a status of 500 or more, which no caller brings about. */
  faults: number;
  /** One of the busiest accounts or callers; null: any other. */
  by: string | null;
  costUsd: number;
}

/** Sums of one metric of a variant. Of booleans, true is 1. */
export interface VariantRatings {
  variant: string | null;
  metric: string;
  kind: 'boolean' | 'number';
  n: number;
  sum: number;
  sumOfSquares: number;
}

export interface ExperimentRows {
  times: readonly VariantTimes[];
  ratings: readonly VariantRatings[];
}

/** Variants of a model under one definition (`shape`): a change of it begins anew. */
export interface Experiment {
  alias: string;
  shape: string;
}

/** State of a variant: whether it takes part. Every replica follows it. */
export interface VariantState {
  variant: string;
  /** Earlier requests do not count in comparisons. */
  sinceMs: number;
  /** Time and reason of its removal; null: it takes part. */
  out: { atMs: number; reason: string } | null;
}

/** One request has feedback in so many metrics at most. */
export const metricsPerRequestMax = 20;

/** The port of experiments, in the database of the ledger: rows are kept as long as its events. */
export interface ExperimentBook {
  /** `too-many`: the request has feedback in `metricsMax` other metrics; nothing is kept. */
  rate(feedback: Feedback, request: RatedRequest, metricsMax: number): Promise<'kept' | 'too-many'>;
  /** By metric. */
  feedbackOf(requestId: string): Promise<Feedback[]>;
  /** Results of a model's requests, with the 100 metrics that have most feedback. */
  results(query: ResultsQuery): Promise<ExperimentRows>;
  /** States of the variants that `begin` named. */
  states(experiment: Experiment): Promise<VariantState[]>;
  /** Remembers when variants were first seen. Those that are known stay as they are. */
  begin(experiment: Experiment, variants: readonly string[], nowMs: number): Promise<void>;
  /** False: it was out already, or nobody began it. */
  takeOut(experiment: Experiment, variant: string, out: { atMs: number; reason: string }): Promise<boolean>;
  /** It is compared from now on. False: it was not out. */
  takeBack(experiment: Experiment, variant: string, nowMs: number): Promise<boolean>;
}
