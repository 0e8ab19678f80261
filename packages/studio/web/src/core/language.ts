// The two languages of the pages. A dictionary is one object per language; the type checker holds their keys equal.
// A third, which Settings does not offer, puts each text into brackets: a text without them stands in no dictionary.
import { create } from "zustand";

import { filled, type Values } from "./template";

export type Language = "en" | "zh" | "xa";
export type Theme = "system" | "light" | "dark";

interface Preferences {
  language: Language;
  theme: Theme;
  setLanguage(language: Language): void;
  setTheme(theme: Theme): void;
}

function kept<T extends string>(name: string, known: readonly T[], otherwise: T): T {
  const found = localStorage.getItem(name);
  return known.find((each) => each === found) ?? otherwise;
}

function ofBrowser(): Language {
  return navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";
}

export const usePreferences = create<Preferences>((set) => ({
  language: kept("actum.language", ["en", "zh", "xa"], ofBrowser()),
  theme: kept("actum.theme", ["system", "light", "dark"], "system"),
  setLanguage: (language) => {
    localStorage.setItem("actum.language", language);
    set({ language });
  },
  setTheme: (theme) => {
    localStorage.setItem("actum.theme", theme);
    set({ theme });
  },
}));

const TAGS = { en: "en", zh: "zh-CN", xa: "en-XA" } as const satisfies Record<Language, string>;

/** The document follows what is preferred: its language for screen readers, its theme for the style sheet. */
export function follow(): void {
  const show = ({ language, theme }: Preferences) => {
    document.documentElement.lang = TAGS[language];
    document.documentElement.dataset.theme = theme;
  };
  show(usePreferences.getState());
  usePreferences.subscribe(show);
}

export type Dictionary<K extends string> = Readonly<Record<Language, Readonly<Record<K, string>>>>;

/** A pair of dictionaries with the same keys. */
export function dictionary<K extends string>(en: Record<K, string>, zh: Record<NoInfer<K>, string>): Dictionary<K> {
  const texts = Object.entries<string>(en).map(([key, text]) => [key, `⟦${text}⟧`]);
  return { en, zh, xa: Object.fromEntries(texts) as Record<K, string> };
}

export type Say<K extends string> = (key: K, values?: Values) => string;

/** The texts of a dictionary in the language of the page. */
export function useText<K extends string>(dictionary: Dictionary<K>): Say<K> {
  const language = usePreferences((each) => each.language);
  return (key, values) => filled(dictionary[language][key], values);
}
