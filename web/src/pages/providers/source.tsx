import type { ProviderReply } from '../../../../src/admin/providers.ts';
import { Badge } from '../../parts/status.tsx';

type Kept = Pick<ProviderReply, 'source' | 'shadowed' | 'problem'>;

const sources: Record<Kept['source'], { word: string; title: string }> = {
  file: { word: 'file', title: 'Of the configuration file, and changed there.' },
  kept: { word: 'set up here', title: 'Made in the dashboard, by the admin API or by the CLI.' },
  detected: { word: 'detected', title: 'By a key in the environment, a server of this machine or a list of models.' },
  'built-in': { word: 'built in', title: 'Of Culvert itself.' },
};

/** Where a provider or a model comes from, and what is wrong with what is kept of it. */
export function Source({ of: { source, shadowed, problem } }: { of: Kept }) {
  const { word, title } = sources[source];
  return (
    <span className="inline-flex gap-1">
      <Badge title={title}>{word}</Badge>
      {shadowed && (
        <Badge tone="warn" title="What was set up here is not used: the configuration file has this name too.">
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
