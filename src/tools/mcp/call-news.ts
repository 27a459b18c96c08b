import type { LoggingLevel, LoggingMessageNotification, Progress } from '@modelcontextprotocol/sdk/types.js';
import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';

/** Takes news of a running call, in the order in which its server sends them. */
export interface CallNews {
  /** Null: the caller has given no token for progress. */
  progress: ((progress: Progress) => void) | null;
  /** Null: the caller gets no log messages. */
  log: ((message: LoggingMessageNotification['params']) => void) | null;
}

const levels: readonly LoggingLevel[] = [
  ...(['debug', 'info', 'notice', 'warning'] as const),
  ...(['error', 'critical', 'alert', 'emergency'] as const),
];

/** The level of this name; null: there is none. */
export function logLevelIn(value: JsonValue | undefined): LoggingLevel | null {
  return levels.find((level) => level === value) ?? null;
}

export interface NewsRequest {
  /** JSON-RPC: the message that makes the call. */
  message: JsonObject;
  /** The least level of log messages; null: its sender gets none. */
  logLevel: LoggingLevel | null;
  /** False: texts of a server pass guards and hooks first, which see whole answers only. */
  mayHaveTexts: boolean;
  send(notification: JsonObject): void;
}

/** News of the call that a message makes, as notifications to its sender. Null: it gets none. */
export function newsFor({ message, logLevel, mayHaveTexts, send }: NewsRequest): CallNews | null {
  const meta = isObject(message.params) && isObject(message.params._meta) ? message.params._meta : {};
  const { progressToken } = meta;
  const hasToken = typeof progressToken === 'string' || Number.isInteger(progressToken);
  const least = logLevel === null || !mayHaveTexts ? null : levels.indexOf(logLevel);
  if (!hasToken && least === null) return null;
  const notify = (method: string, params: object) =>
    send({ jsonrpc: '2.0', method: `notifications/${method}`, params: params as JsonObject });
  return {
    progress: hasToken
      ? ({ progress, total, message: text }) =>
          notify('progress', { progressToken, progress, total, ...(mayHaveTexts && { message: text }) })
      : null,
    log:
      least === null
        ? null
        : ({ level, logger, data }) => {
            if (levels.indexOf(level) >= least) notify('message', { level, logger, data });
          },
  };
}
