import type { JsonObject, JsonValue } from '../../../kernel/json.ts';
import { folded } from '../../../kernel/parse-object.ts';
import { memberKinds, type NamingRules, objectsBy, usualMembers } from '../named-objects.ts';
import { isGatewayId } from './wire.ts';

/**
 * Places in a request that name responses, conversations, prompts, files, stores and containers of OpenAI. A tool of
 * type `mcp` is an address or the name of a service, with a token of the caller's own; only its tunnel is the
 * operator's.
 */
const rules: NamingRules = {
  members: memberKinds({
    ...usualMembers,
    vector_store_ids: 'id',
    // Of xAI.
    collection_ids: 'id',
    container: 'id',
    skill_id: 'id',
    tunnel_id: 'id',
    comparison_response_id: 'id',
    // Results of a search, and sources of a text: sent back, never looked up.
    annotations: 'labels',
    results: 'labels',
    // Of a prompt.
    variables: 'free-names',
    headers: 'opaque',
    env: 'opaque',
    arguments: 'opaque',
    parameters: 'opaque',
    input_schema: 'opaque',
    filters: 'opaque',
  }),
  top: memberKinds({ previous_response_id: 'id', conversation: 'id', prompt: 'id', input: 'items' }),
  items: memberKinds({ id: 'item-id', approval_request_id: 'label' }),
  itemUse(item, id) {
    // No provider knows items that were made here.
    if (isGatewayId(id)) return null;
    return isWhole(item) && isPlainlySpelt(item) ? 'label' : 'reference';
  },
};

/**
 * Items that a client sends whole, so that their id is only a label. All others are looked up by id: references,
 * thoughts without their encrypted text, images, searches, and unknown ones.
 */
const wholeItems: ReadonlySet<JsonValue | undefined> = new Set(
  `message function_call function_call_output custom_tool_call custom_tool_call_output
  tool_search_call tool_search_output additional_tools local_shell_call local_shell_call_output
  shell_call shell_call_output apply_patch_call apply_patch_call_output computer_call
  computer_call_output mcp_approval_response compaction_trigger configuration_update program
  program_output`.split(/\s+/),
);

export const objects = objectsBy(rules);

/** A server that takes members in any case may find another `type` in it than we do. */
function isPlainlySpelt(item: JsonObject): boolean {
  for (const name in item) {
    const plain = folded(name);
    if (plain !== name && (plain === 'type' || plain === 'role' || plain === 'encrypted_content')) return false;
  }
  return true;
}

export function isWhole({ type, role, encrypted_content: encrypted }: JsonObject): boolean {
  if (type === undefined || type === null) return role !== undefined;
  return wholeItems.has(type) || (typeof encrypted === 'string' && encrypted !== '');
}
