import type { ProviderReply } from '../../../../src/admin/entries/provider-shown.ts';
import { Note } from '../error-note.tsx';
import { Ago } from '../figures.tsx';
import { Fact } from '../page.tsx';
import { Badge } from '../status.tsx';

/** Where a provider, a model or an MCP server is set, and how its stored entry does. */
export type StoredEntry = Pick<
  ProviderReply,
  'source' | 'shadowed' | 'problem' | 'version' | 'updated_at' | 'updated_by'
>;

const sources: Record<StoredEntry['source'], { word: string; title: string }> = {
  file: { word: 'file', title: 'It is set in the configuration file. Change it there.' },
  kept: { word: 'set up here', title: 'It was created in the dashboard, by the admin API or by the CLI.' },
  detected: {
    word: 'detected',
    title: 'Culvert found it by a key in the environment, a server on this machine or a list of models.',
  },
  'built-in': { word: 'built in', title: 'It is built into Culvert.' },
};

/** Its origin, of an entry that has no fault. */
export function SourceBadge({ source }: { source: StoredEntry['source'] }) {
  const { word, title } = sources[source];
  return <Badge title={title}>{word}</Badge>;
}

/** Its origin, and the fault of its stored entry. */
export function Source({ of: { source, shadowed, problem } }: { of: StoredEntry }) {
  return (
    <span className="inline-flex gap-1">
      <SourceBadge source={source} />
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

/** Why its stored entry is not in use. `kind` is what it is, in a sentence. */
export function EntryNotes({ of: { problem, shadowed }, kind }: { of: StoredEntry; kind: string }) {
  return (
    <>
      {problem !== null && <Note tone="bad">The settings made here cannot be used: {problem}</Note>}
      {shadowed && (
        <Note tone="warn">
          The configuration file has {kind} with this name, and Culvert uses that one. The settings made here are kept,
          but not used.
        </Note>
      )}
    </>
  );
}

/** Its origin and its last change, among the facts of its page. */
export function EntryFacts({ of }: { of: StoredEntry }) {
  return (
    <>
      <Fact name="Source">
        <Source of={of} />
      </Fact>
      {of.updated_at !== null && (
        <Fact name="Last change">
          <Ago at={of.updated_at} /> by {of.updated_by}
        </Fact>
      )}
    </>
  );
}
