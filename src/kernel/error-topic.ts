import type { Failure, FailureKind, PageRefusal } from './failure.ts';

/** Limits of a plan or the server, by the first part of `QuotaExceeded.limit`. */
const limitTopics = {
  '5h': 'limit-window',
  week: 'limit-window',
  month: 'limit-window',
  minute: 'limit-minute',
  free: 'limit-free',
  concurrency: 'limit-concurrency',
  tier: 'limit-tier',
  tokens: 'limit-tokens',
  budget: 'limit-budget',
  storage: 'limit-storage',
  crawls: 'limit-crawls',
  logins: 'limit-logins',
} as const satisfies Readonly<Record<string, string>>;

/** Every error that has its own entry in docs/errors.md. Its name is the entry's anchor and never changes. */
export type ErrorTopic =
  | Exclude<FailureKind, 'page-refused'>
  | PageRefusal
  | (typeof limitTopics)[keyof typeof limitTopics]
  | 'context-length-exceeded'
  | 'answer-broken-off';

/** The entry that explains `failure`. */
function errorTopicOf(failure: Failure): ErrorTopic {
  switch (failure.kind) {
    case 'page-refused':
      return failure.code;
    case 'quota-exceeded': {
      const [subject = ''] = failure.limit.split(':', 1);
      return Object.hasOwn(limitTopics, subject) ? limitTopics[subject as keyof typeof limitTopics] : 'quota-exceeded';
    }
    case 'upstream-refused':
      return failure.tooLong === undefined ? 'upstream-refused' : 'context-length-exceeded';
    case 'upstreams-failed':
      return failure.begun === true ? 'answer-broken-off' : 'upstreams-failed';
    default:
      return failure.kind;
  }
}

const errorsPath = '/docs/errors#';

/** The entry's address: absolute where `publicUrl` is configured, else a path on this server. */
export function errorUrlOf(failure: Failure, publicUrl: string | undefined): string {
  return (publicUrl ?? '').replace(/\/+$/, '') + errorsPath + errorTopicOf(failure);
}
