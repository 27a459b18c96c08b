import { Pencil, X } from 'lucide-react';
import { IconButton } from '../../parts/button.tsx';
import { type Choice, Choose } from '../../parts/forms/choose.tsx';
import { Answer } from './answer.tsx';
import type { UserTurn } from './conversation.ts';
import type { Lane } from './use-lanes.ts';

interface LaneProps {
  lane: Lane;
  models: readonly Choice[];
  running: boolean;
  onModel: (model: string) => void;
  /** Null for the only one. */
  onRemove: (() => void) | null;
  onTool: (turnId: string, place: number, result: string) => void;
  onAgain: () => void;
  onEdit: (turn: UserTurn) => void;
}

/** One model and its conversation. */
export function LaneColumn({ lane, models, running, onModel, onRemove, onTool, onAgain, onEdit }: LaneProps) {
  const last = lane.turns.at(-1);
  return (
    <section aria-label={`Conversation with ${lane.model}`} className="flex min-w-0 flex-1 flex-col gap-4">
      <div className="flex items-center gap-1">
        <Choose label="Model" value={lane.model} options={models} onValue={onModel} className="w-full max-w-xs" />
        {onRemove !== null && (
          <IconButton label={`Remove ${lane.model}`} onClick={onRemove}>
            <X />
          </IconButton>
        )}
      </div>
      {lane.turns.map((turn) =>
        turn.role === 'user' ? (
          <Question key={turn.id} turn={turn} onEdit={() => onEdit(turn)} />
        ) : (
          <Answer
            key={turn.id}
            turn={turn}
            onAgain={turn === last && !running ? onAgain : null}
            onTool={(place, result) => onTool(turn.id, place, result)}
          />
        ),
      )}
    </section>
  );
}

function Question({ turn, onEdit }: { turn: UserTurn; onEdit: () => void }) {
  return (
    <div className="group relative ml-auto max-w-[85%] rounded-lg bg-accent-soft px-3 py-2">
      {turn.pictures.length > 0 && (
        <div className="mb-1.5 flex flex-wrap gap-2">
          {turn.pictures.map(({ name, dataUrl }) => (
            <img
              key={dataUrl.slice(-64) + name}
              src={dataUrl}
              alt={name}
              className="max-h-40 rounded-md border border-line"
            />
          ))}
        </div>
      )}
      <p className="whitespace-pre-wrap [overflow-wrap:anywhere]">{turn.text}</p>
      <IconButton
        label="Edit message"
        onClick={onEdit}
        className="-left-9 absolute top-1 opacity-0 focus-visible:opacity-100 group-hover:opacity-100 [@media(hover:none)]:opacity-100"
      >
        <Pencil />
      </IconButton>
    </div>
  );
}
