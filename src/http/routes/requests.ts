import type { Ledger } from '../../books/metering/ledger.ts';
import { requestRecord } from '../../books/metering/request-record.ts';
import { openAiChat } from '../../formats/dialects/openai-chat/index.ts';
import { refuse } from '../../inference/spine/sink.ts';
import { callerOf, type Route } from '../exchange.ts';
import { writeJson } from '../write-json.ts';

/** `GET /v1/requests/{id}`: one of the caller's own requests with its route explanation, by our id or the caller's. */
export function requestRoute(ledger: Pick<Ledger, 'find'>): Route {
  return {
    method: 'GET',
    path: '/v1/requests/:id',
    summary: 'Explain a request of the account afterwards',
    auth: 'key',
    quota: 'free',
    dialect: openAiChat,
    async handle(exchange) {
      const id = exchange.params.id ?? '';
      // Another account's request is indistinguishable from one that never was.
      const event = await ledger.find(id, callerOf(exchange).account);
      if (event !== null) return writeJson(exchange, 200, requestRecord(event, 'caller'));
      const message = `There is no request '${id.slice(0, 128)}' in this account. It may still be running, or older than the ledger keeps.`;
      refuse(exchange.client, { kind: 'not-found', message }, []);
    },
  };
}
