import type { ProviderReply } from '../../../../src/admin/providers.ts';
import { Badge } from '../../parts/status.tsx';

type Kept = Pick<ProviderReply, 'source' | 'shadowed' | 'problem'>;

const sources: Record<Kept['source'], { word: string; title: string }> = {
  file: { word: 'file', title: 'It is set in the configuration file, and you change it there.' },
  kept: { word: 'set up here', title: 'It was created in the dashboard, by the admin API or by the CLI.' },
  detected: {
    word: 'detected',
    title: 'Culvert found it by a key in the environment, a server on this machine or a list of models.',
  },
  'built-in': { word: 'built in', title: 'It is a part of Culvert.' },
};

/** Origin of a provider or a model, and the fault of its stored entry. */
export function Source({ of: { source, shadowed, problem } }: { of: Kept }) {
  const { word, title } = sources[source];
  return (
    <span className="inline-flex gap-1">
      <Badge title={title}>{word}</Badge>
      {shadowed && (
        <Badge tone="warn" title="Culvert uses the one with this name in the configuration file, and not this one.">
          shadowed
        </Badge>
      )}
      {problem !== null && (
        <Badge tone="bad" title={problem}>
          problem
        </Badge>
      )}
    </span>
  );
}
