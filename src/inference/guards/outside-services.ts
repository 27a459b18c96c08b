import { type DataRule, guardDataFacts } from '../../config/data-rules.ts';
import type { GuardConfig } from '../../config/schema.ts';
import { BadAnswer, type OutsideCheck } from '../../guards/outside/outside-check.ts';
import type { Clock } from '../../kernel/clock.ts';
import { awsAuthorizer } from '../../upstream/credentials/aws-signature.ts';
import { googleAuthorizer } from '../../upstream/credentials/google.ts';
import type { Transport } from '../../upstream/transport/upstream-call.ts';
import { awsSourceOf } from '../models/authorizer-for.ts';
import { type AskOutside, createAsker, type OutsideService } from './outside-asker.ts';
import { portsOver, type ServerPorts } from './server-ports.ts';

/** Parts of the server that ask services. */
export interface AskingParts {
  transport: Transport;
  clock: Clock;
  log: { warn(fields: object, message: string): void };
}

/** By configuration: what a guard knows of its service outlives each look at the lists of models. */
const askers = new WeakMap<GuardConfig, AskOutside>();

/** The asker of a guard whose check is outside. */
export async function openOutside(guard: string, config: GuardConfig, parts: AskingParts): Promise<AskOutside> {
  const { transport, clock, log } = parts;
  const known = askers.get(config);
  if (known !== undefined) return known;
  const { deadline: deadlineMs } = config;
  const answer = await answerOf(config, () => portsOver(transport), clock);
  const check = await checkOf(config);
  const warn = (reason: string) => log.warn({ guard, reason }, 'a guard got no answer from what it asks');
  const facts = guardDataFacts(config);
  const service = {
    guard,
    facts,
    warn,
    deadlineMs,
    check,
    ...identityOf(config, clock),
    ...(answer !== null && { answer }),
  };
  const asker = createAsker(transport, clock, service);
  askers.set(config, asker);
  return asker;
}

/** The check of the configuration, whose service is loaded at need. Addresses have no slash at their end. */
async function checkOf(config: GuardConfig): Promise<OutsideCheck> {
  const { categories, threshold, guardrail, region = '', template = '', language = 'en' } = config;
  const rule = { categories, threshold };
  const base = (config.url ?? '').replace(/\/+$/, '');
  switch (config.check) {
    case 'webhook':
      return (await import('../../guards/outside/webhook.ts')).webhookCheck(config.url ?? '');
    case 'openai-moderation': {
      const { openAiModeration } = await import('../../guards/outside/openai-moderation.ts');
      return openAiModeration(base || 'https://api.openai.com/v1', rule);
    }
    case 'model': {
      const { openAiModeration } = await import('../../guards/outside/openai-moderation.ts');
      return openAiModeration('', rule, config.model);
    }
    case 'azure-content-safety':
      return (await import('../../guards/outside/azure-content-safety.ts')).azureContentSafety(base, rule);
    case 'bedrock-guardrails': {
      const { bedrockGuardrails } = await import('../../guards/outside/bedrock-guardrails.ts');
      const { id = '', version = '' } = guardrail ?? {};
      return bedrockGuardrails(base || `https://bedrock-runtime.${region}.amazonaws.com`, { id, version });
    }
    case 'model-armor': {
      const { modelArmor } = await import('../../guards/outside/model-armor.ts');
      const [, , , location = ''] = template.split('/');
      return modelArmor(base || `https://modelarmor.${location}.rep.googleapis.com`, template);
    }
    case 'presidio':
      return (await import('../../guards/outside/presidio.ts')).presidio(base, { ...rule, language });
    case 'lakera':
      return (await import('../../guards/outside/lakera.ts')).lakera(base || 'https://api.lakera.ai', config.project);
    case 'topics': {
      const { topicsCheck } = await import('../../guards/outside/topics.ts');
      return topicsCheck(threshold ?? 1, config.collection?.split('/').at(-1) ?? '');
    }
    case 'grounding':
      return (await import('../../guards/outside/grounding.ts')).groundingCheck(threshold ?? 1);
    default:
      throw new Error(`the check ${config.check} asks nobody outside`);
  }
}

/** Asks a part of this server; null: the check asks a service by a POST. */
async function answerOf(
  { check, model = '', topics = {}, collection, deadline: deadlineMs }: GuardConfig,
  ports: () => Promise<ServerPorts>,
  clock: Clock,
): Promise<NonNullable<OutsideService['answer']> | null> {
  if (check === 'model') return async (body, signal, rules) => (await ports()).moderate(body, { signal, rules });
  if (collection !== undefined)
    return async (texts, _, rules) => (await ports()).nearest(collection, texts as string[], rules);
  if (check !== 'topics') return null;
  const { nearestExamples } = await import('../../guards/outside/topics.ts');
  const embed = async (texts: readonly string[], rules: readonly DataRule[] = []) => {
    const vectors = await (await ports()).embed(model, texts, deadlineMs, rules);
    if (vectors === null) throw new BadAnswer('the model gave no vectors in time');
    return vectors;
  };
  const nearest = nearestExamples(topics, embed, () => clock.monotonicMs());
  return async (pieces, _, rules) => nearest(pieces as string[], (texts) => embed(texts, rules));
}

/** Proof of who asks. */
function identityOf(config: GuardConfig, clock: Clock): Pick<OutsideService, 'headers' | 'secret' | 'authorize'> {
  const { check, secret, api_key: key, aws, google, region = '' } = config;
  if (check === 'bedrock-guardrails') {
    return { headers: {}, authorize: awsAuthorizer(awsSourceOf(aws, region), 'bedrock', clock) };
  }
  if (check === 'model-armor') {
    return { headers: {}, authorize: googleAuthorizer({ credentialsFile: google?.credentials_file }, clock) };
  }
  if (key === undefined) return { headers: {}, secret };
  if (check === 'azure-content-safety') return { headers: { 'ocp-apim-subscription-key': key } };
  return { headers: { authorization: `Bearer ${key}` } };
}
