import { Note } from '../../parts/error-note.tsx';
import { lateWarnings } from './plan-fields.ts';

/** A note where amounts that warn are not below the limits. */
export function LateWarnings(typed: {
  hard: Parameters<typeof lateWarnings>[0];
  soft: Parameters<typeof lateWarnings>[1];
}) {
  const late = lateWarnings(typed.hard, typed.soft);
  return (
    <div role="status">
      {late.length > 0 && (
        <Note tone="warn">
          {late.map((text) => (
            <p key={text}>{text}</p>
          ))}
        </Note>
      )}
    </div>
  );
}
