import type { Principal } from '../../../books/auth/principal.ts';
import { isStandard } from '../../../formats/media/speech/voices.ts';
import { type Failure, isFailure } from '../../../kernel/failure.ts';
import type { Alias } from '../../models/alias.ts';
import type { SpeechServices } from './services.ts';
import { speakersOf, voiceNames } from './speech-way.ts';

/** One voice, and the models that can be asked for it. */
export interface ListedVoice {
  id: string;
  kind: 'standard' | 'native';
  models: readonly string[];
}

/**
 * The voices of one model, or of all that speak and this key may use: by the name that callers use, as the models are
 * listed. Servers are asked for theirs.
 */
export async function listVoices(
  services: Pick<SpeechServices, 'snapshots' | 'speechEngines' | 'voiceLists'>,
  model: string | null,
  principal: Principal,
): Promise<ListedVoice[] | Failure> {
  const snapshot = services.snapshots.current;
  let aliases: readonly Alias[];
  if (model === null) aliases = snapshot.models.list(principal).filter(({ type }) => type === 'speech');
  else {
    const alias = snapshot.models.resolve(model, principal);
    if (isFailure(alias)) return alias;
    aliases = [alias];
  }
  const speaking = aliases.map((alias) => ({ alias, speakers: speakersOf(services, snapshot, alias) }));
  const providers = speaking.flatMap(({ speakers }) => speakers.flatMap(({ provider }) => provider ?? []));
  await services.voiceLists.refresh(providers);
  const models = new Map<string, string[]>();
  for (const { alias, speakers } of speaking) {
    if (speakers.length === 0) continue;
    for (const voice of voiceNames(services, alias, speakers)) {
      const known = models.get(voice);
      if (known === undefined) models.set(voice, [alias.id]);
      else known.push(alias.id);
    }
  }
  return [...models].map(([id, names]) => ({ id, kind: isStandard(id) ? 'standard' : 'native', models: names }));
}
