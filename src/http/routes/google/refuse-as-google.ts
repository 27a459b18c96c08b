import { gemini } from '../../../formats/dialects/gemini/index.ts';
import type { Services } from '../../../inference/endpoints/services.ts';
import { type Failure, statusOf } from '../../../kernel/failure.ts';
import { type Exchange, errorContextOf } from '../../exchange.ts';
import { writeJson } from '../../write-json.ts';

/** Refuses in Google's format on routes below `/v1` whose own errors are OpenAI's. */
export function refuseAsGoogle({ clock }: Services, exchange: Exchange, failure: Failure): void {
  const headers = exchange.admitted?.headers ?? [];
  writeJson(exchange, statusOf(failure), gemini.errorBody(failure, errorContextOf(exchange, clock.wallMs())), headers);
}
