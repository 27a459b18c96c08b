import { Code2, Columns2, Eraser, SlidersHorizontal } from 'lucide-react';
import { type RefObject, useEffect, useRef, useState } from 'react';
import type { Caller, Model } from '../../api/caller.ts';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Note } from '../../parts/error-note.tsx';
import { useFilters } from '../../parts/filters.ts';
import { FieldProblem } from '../../parts/forms/typed.ts';
import { useStored } from '../../parts/stored/use-stored.ts';
import { CodeDialog } from './code-dialog.tsx';
import { Composer, ComposerButton } from './composer.tsx';
import { noSettings, type Picture, type Settings, type UserTurn } from './conversation.ts';
import { conversationCall } from './conversation-call.ts';
import { formatOf } from './formats/formats.ts';
import { LaneColumn } from './lane.tsx';
import { modelChoices } from './model-choices.tsx';
import { SettingsPanel } from './settings-panel.tsx';
import { keepPrompt, StartHint } from './start-hint.tsx';
import { useStopKey } from './use-call.ts';
import { type Lanes, lanesMax, useLanes } from './use-lanes.ts';

/** Conversations with one model, or the same with several side by side. */
export function ConversationView({ caller, models }: { caller: Caller; models: readonly Model[] }) {
  const [{ format: formatId, model }, setFilters] = useFilters<'format' | 'model'>();
  const format = formatOf(formatId);
  const [settings, setSettings] = useStored<Settings>('playground.settings', noSettings, 'browser');
  const [text, setText] = useStored('playground.draft', '');
  const [pictures, setPictures] = useState<readonly Picture[]>([]);
  const [fault, setFault] = useState<FieldProblem | null>(null);
  const [open, setOpen] = useState<'settings' | 'code' | null>(null);
  const lanes = useLanes(caller, format, settings);
  const end = useRef<HTMLDivElement>(null);
  const running = lanes.running.size > 0;
  const choices = modelChoices(models);

  const [lastModel, keepModel] = useStored('playground.model', '', 'browser');
  useFirstLane(lanes, models.find(({ id }) => id === lastModel)?.id ?? models[0]?.id);
  useLinkedModel(lanes, model, () => setFilters({ model: '' }));
  useStopKey(running, lanes.stop);
  useStayAtEnd(end, lanes.lanes, running);

  const guarded = (does: () => void) => {
    try {
      setFault(null);
      does();
    } catch (error) {
      if (!(error instanceof FieldProblem)) throw error;
      setFault(error);
      if (!matchMedia('(min-width: 64rem)').matches) setOpen('settings');
    }
  };
  const send = () =>
    guarded(() => {
      lanes.send(text, pictures);
      keepPrompt(text);
      setText('');
      setPictures([]);
    });
  const edit = (turn: UserTurn) => {
    lanes.cutFrom(turn.id);
    setText(turn.text);
    setPictures(turn.pictures);
  };
  const asCode = () => {
    const lane = lanes.lanes[0]!;
    const turn = { role: 'user', id: '', text: text || 'Hello', pictures } as const;
    const turns =
      text === '' && lane.turns.some(({ role }) => role === 'user')
        ? upToLastQuestion(lane.turns)
        : [...lane.turns, turn];
    return conversationCall(format, lane.model, turns, settings);
  };
  const panel = (
    <SettingsPanel
      format={format.id}
      onFormat={(id) => setFilters({ format: id === 'chat' ? '' : id })}
      settings={settings}
      onSettings={setSettings}
      fault={fault}
    />
  );
  return (
    <div className="grid min-w-0 gap-6 lg:grid-cols-[minmax(0,1fr)_17rem]">
      <div className="flex min-h-[calc(100dvh-15rem)] min-w-0 flex-col gap-4 md:min-h-[calc(100dvh-9rem)]">
        <div className="flex min-w-0 gap-6 overflow-x-auto pb-2 [&>section]:min-w-[min(100%,20rem)]">
          {lanes.lanes.map((lane) => (
            <LaneColumn
              key={lane.id}
              lane={lane}
              models={choices}
              running={lanes.running.has(lane.id)}
              onModel={(next) => {
                lanes.setModel(lane.id, next);
                keepModel(next);
              }}
              onRemove={lanes.lanes.length > 1 ? () => lanes.remove(lane.id) : null}
              onTool={(turnId, place, result) => guarded(() => lanes.answerTool(lane.id, turnId, place, result))}
              onAgain={() => guarded(() => lanes.again(lane.id))}
              onEdit={edit}
            />
          ))}
        </div>
        {lanes.lanes.every(({ turns }) => turns.length === 0) && <StartHint onPrompt={setText} />}
        <div className="sticky bottom-0 z-10 mt-auto -mb-4 flex flex-col gap-2 bg-ground pb-4">
          {fault !== null && <Note tone="bad">{fault.message}</Note>}
          <Composer
            text={text}
            onText={setText}
            pictures={pictures}
            onPictures={setPictures}
            running={running}
            disabled={lanes.lanes.length === 0}
            onSend={send}
            onStop={lanes.stop}
          >
            <div className="flex items-center gap-0.5">
              <ComposerButton
                label="Compare with another model"
                word="Compare"
                icon={<Columns2 />}
                disabled={lanes.lanes.length >= lanesMax || models.length === 0}
                onClick={() => lanes.add(nextModel(models, lanes))}
              />
              <ComposerButton label="View code" word="Code" icon={<Code2 />} onClick={() => setOpen('code')} />
              <ComposerButton
                label="Settings"
                word="Settings"
                icon={<SlidersHorizontal />}
                className="lg:hidden"
                onClick={() => setOpen('settings')}
              />
              <ComposerButton label="New conversation" word="New" icon={<Eraser />} onClick={lanes.clear} />
            </div>
          </Composer>
        </div>
        <div ref={end} />
      </div>
      <aside aria-label="Settings" className="hidden lg:block">
        <div className="sticky top-5">{panel}</div>
      </aside>
      <Dialog open={open === 'settings'} onClose={() => setOpen(null)} title="Settings">
        <div className="flex flex-col gap-4">
          {panel}
          <Button look="main" onClick={() => setOpen(null)}>
            Done
          </Button>
        </div>
      </Dialog>
      <CodeDialog open={open === 'code'} onClose={() => setOpen(null)} caller={caller} call={asCode} />
    </div>
  );
}

function upToLastQuestion(turns: Lanes['lanes'][number]['turns']) {
  return turns.slice(0, turns.findLastIndex(({ role }) => role === 'user') + 1);
}

function nextModel(models: readonly Model[], { lanes }: Lanes): string {
  const used = new Set(lanes.map(({ model }) => model));
  return (models.find(({ id }) => !used.has(id)) ?? models[0]!).id;
}

/** There is always one to talk to. */
function useFirstLane({ lanes, add }: Lanes, model: string | undefined): void {
  const missing = lanes.length === 0 && model !== undefined;
  // biome-ignore lint/correctness/useExhaustiveDependencies: only when the last one is gone.
  useEffect(() => {
    if (missing) add(model);
  }, [missing]);
}

/** A link with `?model=` begins a conversation with that one; a reload goes on with it. */
function useLinkedModel({ restart }: Lanes, model: string | undefined, taken: () => void): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each link.
  useEffect(() => {
    if (model === undefined) return;
    restart(model);
    taken();
  }, [model]);
}

/** How far from the end a reader may be who still reads there. */
const nearPx = 240;

function useStayAtEnd(end: RefObject<HTMLDivElement | null>, lanes: Lanes['lanes'], running: boolean): void {
  const wasRunning = useRef(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: whenever a lane has grown.
  useEffect(() => {
    const page = document.getElementById('page');
    const [before, now] = [wasRunning.current, running];
    wasRunning.current = now;
    // Its last piece says how an answer ended.
    if ((!before && !now) || page === null) return;
    const away = page.scrollHeight - page.scrollTop - page.clientHeight;
    const isSent = now && !before;
    if (isSent || away < nearPx) end.current?.scrollIntoView({ block: 'end' });
  }, [lanes, running]);
}
