// Files that a person gives: by a button, or by dropping them.
import { useRef, useState, type DragEvent } from "react";

export function FileButton({ label, accept, isOne = false, onFiles }: { label: string; accept?: string; isOne?: boolean; onFiles: (files: readonly File[]) => void }) {
  const picker = useRef<HTMLInputElement>(null);
  return (
    <>
      <button type="button" onClick={() => picker.current?.click()}>
        {label}
      </button>
      <input
        ref={picker}
        type="file"
        multiple={!isOne}
        accept={accept}
        hidden
        onChange={(event) => {
          onFiles([...(event.target.files ?? [])]);
          event.target.value = ""; // the same file may be chosen again
        }}
      />
    </>
  );
}

/** What an element needs so that files can be dropped on it, and whether some are held over it. */
export function useDropping(onFiles: (files: readonly File[]) => void) {
  const [isOver, setOver] = useState(false);
  const dropping = {
    onDragOver: (event: DragEvent) => {
      if (!event.dataTransfer.types.includes("Files")) return;
      event.preventDefault();
      setOver(true);
    },
    onDragLeave: () => setOver(false),
    onDrop: (event: DragEvent) => {
      event.preventDefault();
      setOver(false);
      onFiles([...event.dataTransfer.files]);
    },
  };
  return { dropping, isOver };
}
