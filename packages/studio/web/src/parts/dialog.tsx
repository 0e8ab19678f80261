// A dialog over the page.
import { useEffect, useRef, type ReactNode } from "react";

import { useText } from "../core/language";
import { COMMON } from "../core/texts";

/** A modal dialog with a name. Escape and Cancel leave it; without `onClose` it stays until a person has chosen. */
export function Dialog({ title, onClose, children }: { title: string; onClose?: () => void; children: ReactNode }) {
  const common = useText(COMMON);
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const shown = dialog.current;
    const before = document.activeElement;
    shown?.showModal();
    if (!onClose) shown?.focus(); // a key that is typed just now presses none of its buttons
    return () => {
      shown?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-label={title}
      className="ask"
      tabIndex={-1}
      onCancel={(event) => {
        event.preventDefault();
        onClose?.();
      }}
    >
      <h2>{title}</h2>
      {children}
      {onClose && (
        <div className="buttons">
          <button type="button" onClick={onClose}>
            {common("cancel")}
          </button>
        </div>
      )}
    </dialog>
  );
}
