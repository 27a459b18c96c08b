import type { Operator } from '../books/auth/operator.ts';
import type { SeenAlert } from '../books/metering/notices/next-alerts.ts';
import type { Failure } from '../kernel/failure.ts';
import type { JsonObject } from '../kernel/json.ts';

/**
 * The admin API without a wire (design §16): the HTTP routes under /admin/v1 call it, and the CLI calls it in its own
 * process where no server runs. One table of operations, whose zod schemas are validation and OpenAPI at once.
 */
export interface AdminApi {
  handle(request: AdminRequest): Promise<AdminReply>;
  /** Problems that an operator should be called for, by the rules of the overview. */
  alerts(): Promise<readonly SeenAlert[]>;
  /** OpenAPI 3.1 of these operations, paths beginning `/admin/v1`. */
  openApi(): Record<string, unknown>;
}

export interface AdminRequest {
  method: AdminMethod;
  /** The path below `/admin/v1`, percent-encoded as it was sent: `/accounts/dev`. */
  path: string;
  query: URLSearchParams;
  /**
   * The body as text; '' when there is none. JSON everywhere but `POST /config/check`, which takes YAML. A large JSON body
   * may come parsed, as `kernel/parse-object` reads it.
   */
  body: string | JsonObject;
  /** The text of a body that comes parsed, where digits of its numbers matter. */
  text?: string;
  /** Operator whose rights count, and whose name appears in the audit log. */
  operator: Operator;
}

export type AdminMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface AdminReply {
  status: number;
  contentType: string;
  /** A text, or pieces of one for long bodies (exports). */
  body: string | AsyncIterable<string | Uint8Array>;
  /** Failure of an error reply, for a wire that writes failures in its own way. */
  failure?: Failure;
  /** Members in addition to `error` in the body of an error reply. */
  members?: Readonly<Record<string, unknown>>;
}
