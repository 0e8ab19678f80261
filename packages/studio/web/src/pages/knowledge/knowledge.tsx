// The collections of documents that a person may read: a list, a new one, and one in full.
import { Link, useParams } from "@tanstack/react-router";

import { useSession } from "../../app";
import { ask } from "../../core/api";
import { usePreferences, useText } from "../../core/language";
import { time, told } from "../../core/shown";
import type { Collection } from "../../core/types";
import { ListPage, NewByName, useList } from "../../parts/list";
import { CollectionPage } from "./collection";
import { page } from "./page";
import { TEXTS } from "./texts";

export default function Knowledge() {
  const { collection } = useParams({ strict: false }) as { collection?: string };
  return collection ? <CollectionPage key={collection} name={collection} /> : <List />;
}

function List() {
  const say = useText(TEXTS);
  const title = useText(page.title)("title");
  const language = usePreferences((each) => each.language);
  const scopes = useSession().data?.scopes ?? [];
  const mayMake = scopes.includes("documents") || scopes.includes("admin");
  const begin = (name: string) => ask<Collection>("POST", "/v1/knowledge", { body: { name } });
  const list = useList<Collection>(["collections"], "/v1/knowledge");
  return (
    <ListPage
      title={title}
      about={say("about")}
      make={mayMake && { label: say("new"), form: <NewByName hint={say("nameHint")} list="collections" to="/knowledge" begin={begin} /> }}
      list={list}
      keyOf={(each) => each.name}
      empty={say("empty")}
      columns={[
        [say("name"), (each) => <Link to={`/knowledge/${encodeURIComponent(each.name)}` as string}>{each.name}</Link>, "main"],
        [say("owner"), (each) => told(each.owner)],
        [say("readers"), (each) => (each.readers.length ? told(each.readers.join(" ")) : say("alone"))],
        [say("documents"), (each) => each.documents],
        [say("updated"), (each) => (each.updated_at ? time(each.updated_at, language) : ""), "when"],
      ]}
    />
  );
}
