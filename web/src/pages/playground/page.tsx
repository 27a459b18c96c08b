import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { type Caller, type Model, type ModelKind, modelsQuery, useCaller } from '../../api/caller.ts';
import { Empty } from '../../parts/empty.tsx';
import { ErrorNote } from '../../parts/error-note.tsx';
import { useFilters } from '../../parts/filters.ts';
import { Page } from '../../parts/page.tsx';
import { SkeletonRows } from '../../parts/skeleton.tsx';
import { NoKey, SpeaksAs } from '../../parts/speaks-as.tsx';
import { Tabs } from '../../parts/tabs.tsx';
import { ConversationView } from './conversation-view.tsx';
import { EmbeddingsView } from './embeddings-view.tsx';
import { ImagesView } from './images-view.tsx';
import { SpeechView } from './speech-view.tsx';
import { TranscriptionView } from './transcription-view.tsx';

const modes: readonly {
  value: string;
  label: string;
  kind: ModelKind;
  View: (props: { caller: Caller; models: readonly Model[] }) => ReactNode;
}[] = [
  { value: 'chat', label: 'Chat', kind: 'chat', View: ConversationView },
  { value: 'embeddings', label: 'Embeddings', kind: 'embedding', View: EmbeddingsView },
  { value: 'speech', label: 'Speech', kind: 'speech', View: SpeechView },
  { value: 'transcription', label: 'Transcription', kind: 'transcription', View: TranscriptionView },
  { value: 'images', label: 'Images', kind: 'image', View: ImagesView },
];

export default function PlaygroundPage() {
  const [{ mode = 'chat' }, setFilters] = useFilters<'mode' | 'model'>();
  const callers = useCaller();
  const { caller } = callers;
  const { data: models, error, refetch } = useQuery(modelsQuery(caller));
  const opened = modes.find(({ value }) => value === mode) ?? modes[0]!;
  const failed = callers.error ?? error;
  return (
    <Page title="Playground" opened={opened.label} actions={<SpeaksAs {...callers} />}>
      {failed !== null && (
        <ErrorNote error={failed} retry={callers.error === null ? () => void refetch() : undefined} />
      )}
      {caller === null && <NoKey />}
      {caller != null && models !== undefined && (
        <Tabs
          label="Mode"
          value={opened.value}
          onValue={(value) => setFilters({ mode: value === 'chat' ? '' : value, model: '' })}
          tabs={modes.map(({ value, label, kind, View }) => ({
            value,
            label,
            content: () => (
              <OfKind kind={kind} label={label} models={models}>
                {(fitting) => <View caller={caller} models={fitting} />}
              </OfKind>
            ),
          }))}
        />
      )}
      {failed === null && caller !== null && models === undefined && <SkeletonRows />}
    </Page>
  );
}

function OfKind({
  kind,
  label,
  models,
  children,
}: {
  kind: ModelKind;
  label: string;
  models: readonly Model[];
  children: (models: readonly Model[]) => ReactNode;
}) {
  const fitting = models.filter(({ model_type }) => model_type === kind);
  if (fitting.length > 0) return children(fitting);
  return (
    <Empty title={`No model for ${label.toLowerCase()}`}>
      This key may not use a model of this type. A provider that offers one adds it.
    </Empty>
  );
}
