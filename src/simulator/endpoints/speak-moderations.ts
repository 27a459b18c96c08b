import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';
import { wholeOnly } from '../embed-prompt.ts';
import { textOf } from '../prompt.ts';
import { asOpenAi } from './speak-chat.ts';
import { plainPrompt } from './speak-completions.ts';
import type { Speech } from './speech.ts';

const categories = (
  'harassment harassment/threatening hate hate/threatening illicit illicit/violent self-harm ' +
  'self-harm/intent self-harm/instructions sexual sexual/minors violence violence/graphic'
).split(' ');

/** A text with this in it is judged as violence; all else as harmless, for nothing here can tell. */
const flagMark = '[flag]';

/** Moderations, after the reference of api.openai.com; errors are chat completions'. */
export const moderationsSpeech: Speech = {
  ...asOpenAi,
  ...wholeOnly,
  read(body) {
    const { input, model } = body;
    const texts = textsOf(input);
    if (texts === null) return { refused: "Missing required parameter: 'input'.", param: 'input' };
    const prompt = plainPrompt(typeof model === 'string' ? model : 'omni-moderation-latest', texts.join('\n'));
    return { ...prompt, items: texts };
  },
  whole: (answer, prompt) =>
    JSON.stringify({ id: `modr-sim${answer.serial}`, model: answer.model, results: (prompt.items ?? []).map(judged) }),
};

/** A string, a list of strings, or the parts of one input, pictures among them. */
function textsOf(input: JsonValue | undefined): string[] | null {
  if (typeof input === 'string') return [input];
  if (!Array.isArray(input) || input.length === 0) return null;
  return input.some(isObject) ? [textOf(input)] : input.filter((item) => typeof item === 'string');
}

function judged(text: string): JsonObject {
  const flagged = text.includes(flagMark);
  const each = (value: (hit: boolean) => JsonValue): JsonObject =>
    Object.fromEntries(categories.map((name) => [name, value(flagged && name === 'violence')]));
  return {
    flagged,
    categories: each((hit) => hit),
    category_scores: each((hit) => (hit ? 0.99 : 0.0001)),
    category_applied_input_types: each(() => ['text']),
  };
}
