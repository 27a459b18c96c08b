import { kokoroStandardVoices, type StandardVoice, standardVoices } from '../../neutral/speech.ts';

/** The voices of some models of a service, as data. */
export interface VoiceFacts {
  /** Models, by id in lower case; absent: all that are left. */
  models?: RegExp;
  /** Names of its voices, as callers see them. */
  names: readonly string[];
  /** Names beyond those that it takes too; absent: none. `any`: it alone knows them, and judges. */
  others?: 'any' | RegExp;
  /** Voice of the service for each standard one. */
  standard: Readonly<Record<StandardVoice, string>>;
}

/** Native names as contract and engines have them: `af_heart`, by accent, gender, name. */
const nativeVoice = /^[a-z][fm]_[a-z]+$/;

/** Servers that took over OpenAI's API know its six by their names. */
export const sameStandardVoices: Readonly<Record<StandardVoice, string>> = {
  alloy: 'alloy',
  echo: 'echo',
  fable: 'fable',
  onyx: 'onyx',
  nova: 'nova',
  shimmer: 'shimmer',
};

export const unknownVoices: VoiceFacts = { names: [...standardVoices], others: 'any', standard: sameStandardVoices };

/** OpenAI's later voices, which other services lack: the standard one that sounds most like each. */
const newerVoices: ReadonlyMap<string, StandardVoice> = new Map([
  ['ash', 'echo'],
  ['ballad', 'fable'],
  ['coral', 'nova'],
  ['sage', 'shimmer'],
  ['verse', 'echo'],
  ['marin', 'nova'],
  ['cedar', 'onyx'],
]);

/** Also blends of several, such as `af_bella(2)+af_sky(1)`. */
const kokoroBlend = /^[a-z][fm]_[a-z0-9]+(\(\d+(\.\d+)?\))?([+-][a-z][fm]_[a-z0-9]+(\(\d+(\.\d+)?\))?)*$/;

/** https://huggingface.co/hexgrad/Kokoro-82M, VOICES.md. */
export const kokoroVoices: VoiceFacts = {
  names: (
    'af_heart af_alloy af_aoede af_bella af_jessica af_kore af_nicole af_nova af_river af_sarah af_sky am_adam am_echo ' +
    'am_eric am_fenrir am_liam am_michael am_onyx am_puck am_santa bf_alice bf_emma bf_isabella bf_lily bm_daniel ' +
    'bm_fable bm_george bm_lewis jf_alpha jf_gongitsune jf_nezumi jf_tebukuro jm_kumo zf_xiaobei zf_xiaoni ' +
    'zf_xiaoxiao zf_xiaoyi zm_yunjian zm_yunxi zm_yunxia zm_yunyang ef_dora em_alex em_santa ff_siwis hf_alpha ' +
    'hf_beta hm_omega hm_psi if_sara im_nicola pf_dora pm_alex pm_santa'
  ).split(' '),
  others: kokoroBlend,
  standard: kokoroStandardVoices,
};

/** Voices of a model, by the first entry for it. */
export function voicesOf(facts: readonly VoiceFacts[], model: string): VoiceFacts {
  const id = model.toLowerCase();
  return facts.find(({ models }) => models === undefined || models.test(id)) ?? unknownVoices;
}

/** Name of a voice at a target; `instead`: it has none of that name, this is the nearest standard one. */
export interface FoundVoice {
  name: string;
  how: 'as asked' | 'instead';
}

/**
 * The target's name for the requested voice; null when it has no such voice. `mapped` is the operator's word for it
 * (`voices` of the alias), `listed` the server's own list.
 */
export function findVoice(
  requestedVoice: string,
  facts: VoiceFacts,
  { mapped, listed }: { mapped: string | undefined; listed: readonly string[] },
): FoundVoice | null {
  const name = mapped ?? requestedVoice;
  const found: FoundVoice = { name, how: 'as asked' };
  if (listed.includes(name) || facts.names.includes(name)) {
    // The callers' name may be another one there.
    return isStandard(name) && !listed.includes(name) ? { ...found, name: facts.standard[name] } : found;
  }
  if (isStandard(name)) return { ...found, name: facts.standard[name] };
  const nearest = newerVoices.get(name);
  // A server that lists its voices says that it lacks this one; of another, which judges the name, nothing is known.
  if (nearest !== undefined && (facts.others !== 'any' || listed.length > 0)) {
    return { name: facts.standard[nearest], how: 'instead' };
  }
  if (facts.others === 'any' || facts.others?.test(name)) return found;
  if (nativeVoice.test(name)) return { name: facts.standard[nearestStandard(name)], how: 'instead' };
  // The operator may know a voice that is newer than our list.
  return mapped === undefined ? null : found;
}

export function isStandard(name: string): name is StandardVoice {
  return (standardVoices as readonly string[]).includes(name);
}

/** Whether it is one of OpenAI's later voices, which servers of its format may have. */
export function isNewer(name: string): boolean {
  return newerVoices.has(name);
}

/** The standard voice that is this one, or sounds most like it: by accent and gender. */
function nearestStandard(native: string): StandardVoice {
  const same = standardVoices.find((voice) => kokoroStandardVoices[voice] === native);
  if (same !== undefined) return same;
  if (native[1] === 'm') return native[0] === 'b' ? 'fable' : 'onyx';
  return 'nova';
}
