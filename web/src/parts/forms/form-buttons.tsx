import { Button } from '../button.tsx';

interface FormButtonsProps {
  onCancel: () => void;
  /** On the button that submits. */
  action: string;
  busy: boolean;
  disabled?: boolean;
}

/** The end of a form in a dialog. */
export function FormButtons({ onCancel, action, busy, disabled }: FormButtonsProps) {
  return (
    <>
      <Button onClick={onCancel}>Cancel</Button>
      <Button type="submit" look="main" busy={busy} disabled={disabled}>
        {action}
      </Button>
    </>
  );
}
