import type { JsonObject } from '../../src/kernel/json.ts';
import { codexTurn } from '../../test/clients/codex-body.ts';

/** A Responses request of about `bytes`: Codex' turn (about 38 KB with its tools) with the history that it sends along. */
export function responsesBody(bytes: number): JsonObject {
  const history: JsonObject[] = [];
  for (let size = JSON.stringify(codexTurn('Go on')).length; size < bytes; ) {
    const call_id = `call_${history.length}`;
    const turn = [
      { type: 'reasoning', id: `rs_${call_id}`, summary: [], encrypted_content: 'gAAAAABo'.repeat(40) },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'I look at it. '.repeat(8) }] },
      { type: 'function_call', call_id, name: 'shell', arguments: '{"command":["cat","main.ts"]}' },
      { type: 'function_call_output', call_id, output: 'a line of the file\n'.repeat(40) },
    ];
    history.push(...turn);
    size += JSON.stringify(turn).length;
  }
  return codexTurn('Go on', history);
}
