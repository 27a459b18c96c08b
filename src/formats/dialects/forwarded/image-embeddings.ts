import { isObject, type JsonValue } from '../../../kernel/json.ts';
import { estimatedTokens } from '../../neutral/usage.ts';
import { arrayOf, integerIn, members, needed, oneOf, string } from '../../neutral/value-checks.ts';
import { neutralUsage } from '../openai-chat/read-usage.ts';
import type { ForwardedEndpoint } from './endpoint.ts';
import { readUnstreamed, schemaBesideModel } from './read-fields.ts';
import { faultInList, readWholeInPassing } from './read-whole.ts';

const picture = members("an object with 'image'", { image: needed(string, 'a data URL'), text: string });

/** Vectors of pictures, each with a text or without: the format of Azure AI's model inference. */
export const imageEmbeddings: ForwardedEndpoint = {
  id: 'image-embeddings',
  cost: 1,
  path: '/v1/images/embeddings',
  summary: 'Turn pictures into vectors',
  // Pictures are no text: they are megabytes of base64.
  readRequest: readUnstreamed((_, body) => estimatedTokens(textChars(body.input))),
  requestSchema: () =>
    schemaBesideModel(
      {
        input: arrayOf(picture, 1, Number.POSITIVE_INFINITY, 'pictures'),
        dimensions: integerIn(1, Number.MAX_SAFE_INTEGER),
        encoding_format: string,
        input_type: oneOf('text', 'query', 'document'),
      },
      { input: 'an array of objects such as {"image":"data:image/png;base64,…"}' },
    ),
  readInPassing: () =>
    readWholeInPassing(
      (body) => faultInList(body, ['data'], 1),
      ({ usage }) => neutralUsage(usage),
    ),
};

function textChars(input: JsonValue | undefined): number {
  if (!Array.isArray(input)) return 0;
  return input.reduce<number>(
    (sum, one) => sum + (isObject(one) && typeof one.text === 'string' ? one.text.length : 0),
    0,
  );
}
