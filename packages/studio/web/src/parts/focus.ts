// The focus stays near to where it was when what has it goes: a row that is deleted, a form that is done.
import { useEffect, type RefObject } from "react";

/** What a person who hears the page is told to be in. */
const GROUPS = "section, article, aside, form, fieldset, ul, ol, table, [role=group], [role=region], main";

/** Puts the focus on what is left around an element that had it. Nothing does where the page itself is another one. */
export function useFocus(main: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const page = main.current;
    if (!page) return;
    let around: Element[] = [];
    const note = ({ target }: FocusEvent) => {
      around = [];
      if (!(target instanceof Element) || !page.contains(target)) return;
      for (let each: Element | null = target; each && each !== page; each = each.parentElement) around.push(each);
    };
    const leave = () => {
      const left = around;
      queueMicrotask(() => {
        if (around === left && left[0]?.isConnected) around = []; // it did not go, its person left it
      });
    };
    const look = () => {
      if (document.activeElement !== document.body || !around[0] || around[0].isConnected) return;
      const left = around.find((each) => each.isConnected && each.matches(GROUPS));
      around = [];
      const found = left instanceof HTMLElement ? left : page;
      if (found.tabIndex < 0) found.tabIndex = -1;
      found.focus({ preventScroll: true });
    };
    const watch = new MutationObserver(look);
    watch.observe(document.body, { childList: true, subtree: true });
    document.addEventListener("focusin", note);
    page.addEventListener("focusout", leave);
    return () => {
      watch.disconnect();
      document.removeEventListener("focusin", note);
      page.removeEventListener("focusout", leave);
    };
  }, [main]);
}
