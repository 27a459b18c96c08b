import type { KeyRing } from '../../../books/auth/key-ring.ts';
import type { Principal } from '../../../books/auth/principal.ts';
import { type Failure, isFailure } from '../../../kernel/failure.ts';
import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import type { PageModel, PageQuestion, PageWriting } from '../../../tools/page-model.ts';
import type { Alias } from '../../models/alias.ts';
import type { ServeServices } from '../../spine/answer-cache.ts';
import type { Outcome } from '../../spine/buffered-answer.ts';
import { call } from '../../spine/call.ts';
import { abandoned } from '../../spine/work.ts';
import { chatEndpoint } from '../chat/endpoint.ts';
import type { ChatServices } from '../chat/services.ts';

/** Characters of a page when the model could take more: some 25,000 tokens. */
const pageCharsMax = 100_000;
/** Characters for each token of a model's context, with room for the question and the answer. */
const charsPerContextToken = 2;

/** Chat calls as the key's owner could make them, to write about pages. */
export function createPageModel(services: ChatServices & ServeServices, ring: Pick<KeyRing, 'principalOf'>): PageModel {
  const endpoint = chatEndpoint(services, 'chat', 'openai-chat');
  return {
    modelFor(keyId) {
      const principal = ring.principalOf(keyId);
      const alias = isFailure(principal) ? null : aliasFor(services, principal);
      if (alias === null) return null;
      const context = Math.max(0, ...alias.candidates.map(({ target }) => target.contextWindow ?? 0));
      const chars = context === 0 ? pageCharsMax : Math.min(pageCharsMax, context * charsPerContextToken);
      return { alias: alias.id, pageCharsMax: chars };
    },
    async ask(question, signal) {
      const principal = ring.principalOf(question.keyId);
      if (isFailure(principal)) return principal;
      const { timeoutMs } = question;
      const bounds = { signal, preferences: { timeoutMs }, traced: { route: 'page model' } };
      const body = Buffer.from(JSON.stringify(bodyOf(question)));
      return writingIn(await call(services, endpoint, { principal }, body, bounds));
    },
  };
}

/** `tools.model` where the key may use it; else the first that chats, names without a provider before others. */
function aliasFor({ snapshots }: Pick<ChatServices, 'snapshots'>, principal: Principal): Alias | null {
  const { config, models } = snapshots.current;
  const named = config.tools.model;
  if (named !== undefined) {
    const alias = models.resolve(named, principal);
    return isFailure(alias) ? null : alias;
  }
  return models.firstToChat(principal);
}

function bodyOf({ alias, messages, form }: PageQuestion): JsonObject {
  const format =
    form === 'text'
      ? null
      : form === 'json'
        ? { type: 'json_object' }
        : { type: 'json_schema', json_schema: { name: 'page', schema: form.schema } };
  return { model: alias, messages: [...messages], ...(format !== null && { response_format: format }) };
}

const silent: Failure = { kind: 'unsupported', message: 'the model answered without any text' };

function writingIn(outcome: Outcome | null): PageWriting | Failure {
  if (outcome === null) return abandoned;
  if (outcome.kind === 'refused') return outcome.failure;
  const { choices } = JSON.parse(outcome.body.toString()) as JsonObject;
  const [choice] = (choices ?? []) as JsonValue[];
  const message = isObject(choice) && isObject(choice.message) ? choice.message : {};
  const { content } = message;
  return typeof content === 'string' && content.trim() !== '' ? { text: content } : silent;
}
