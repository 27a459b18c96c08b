import type { ProviderConfig } from './schema.ts';

type ProviderType = ProviderConfig['type'];
export type DialectName = NonNullable<ProviderConfig['dialects']>[number];

/** Types whose services do not hold conversations. */
const notChatting: ReadonlySet<ProviderType> = new Set<ProviderType>([
  'jina',
  'voyage',
  'elevenlabs',
  'whispercpp',
  'tei',
  'infinity',
  'kokoro',
  'speaches',
  'a1111',
  'sd-server',
]);

const own: Partial<Record<ProviderType, readonly DialectName[]>> = {
  anthropic: ['anthropic-messages'],
  gemini: ['gemini'],
  'azure-openai': ['openai-chat', 'openai-responses'],
};

/**
 * What providers of a type can be asked in, should `dialects` say so; none for types that do not chat. The catalog of
 * providers, which has the paths, is held to it by a test.
 */
export function carriedDialects(type: ProviderType): readonly DialectName[] {
  if (notChatting.has(type)) return [];
  return own[type] ?? ['openai-chat', 'openai-responses', 'anthropic-messages'];
}

/** Why `dialect` cannot be spoken to this provider, with the fix; null when it can. */
export function contradiction(
  provider: Pick<ProviderConfig, 'type' | 'base_url'>,
  dialect: DialectName,
): string | null {
  const { type } = provider;
  const carried = carriedDialects(type);
  if (carried.length === 0) return `type ${type} holds no conversations; leave dialects out`;
  if (!carried.includes(dialect)) {
    const other = { 'openai-chat': 'openai', 'openai-responses': 'openai', 'anthropic-messages': 'anthropic' } as const;
    const fix = dialect === 'gemini' ? 'gemini' : other[dialect];
    return `type ${type} cannot be asked in ${dialect}, only in ${carried.join(', ')}; for a server that speaks it take type ${fix} with its base_url`;
  }
  if (type === 'openai' && provider.base_url === undefined && dialect === 'anthropic-messages') {
    return "OpenAI's own service does not speak anthropic-messages; give the base_url of a server that does";
  }
  return null;
}
