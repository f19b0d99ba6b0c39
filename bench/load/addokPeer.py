"""
Asks addok, a geocoder of PyPI, for `npm run bench -- geocode-quality --peer DIR`. `addokPeer.ts` starts it and says what it is given.

It runs in a folder with `documents.ndjson`, `synonyms.txt` and `redis.sock`, the socket of an empty Redis. It imports the documents, and
then answers each line of its input, a question in JSON, with a line of JSON. At the end of its input, it ends, and Redis with it.
"""

import itertools
import json
import os
import re
import sys
import time

# addok writes its progress to stdout, where only answers belong. The operator's own configuration is not read.
answers, sys.stdout = sys.stdout, open(os.devnull, "w")
os.environ["ADDOK_CONFIG_MODULE"] = os.devnull

from addok import autocomplete, batch, core
from addok.config import config
from addok.db import DB
from addok.helpers import keys
from addok.helpers.text import ascii, normalize, tokenize

NUMBER = re.compile(r"\d+[a-z]?")
LETTER = re.compile(r"[a-z]|bis")
DOCUMENTS_AT_ONCE = 1000
WORDS_AT_ONCE = 10_000
COMPLETIONS = 5

# The places of the words of a question that are the house number. addok leaves it to its user to say which these are.
number_places = ()
searches = 0


def flag_number(tokens):
    for place, token in enumerate(tokens):
        if place in number_places:
            token.kind = "housenumber"
        yield token


def readings(question):
    """The last or first number of a question, with the numbers beside it or alone: each as the places of its words."""
    runs, alone = [], []
    for place, word in enumerate(normalize(tokenize([ascii(question)]))):
        if NUMBER.fullmatch(word):
            alone.append([place])
            if runs and runs[-1][-1] == place - 1:
                runs[-1].append(place)
            else:
                runs.append([place])
        elif LETTER.fullmatch(word) and alone and alone[-1][-1] == place - 1:
            alone[-1].append(place)
            runs[-1].append(place)
    if not alone:
        return [()]
    return list(dict.fromkeys(tuple(number) for number in (runs[-1], alone[-1], runs[0], alone[0])))


def make_labels(helper, result):
    """
    What a question is compared with: the street with its number before or after it, with and without the city. addok's own function has
    only the number before the street, with the city, and says that one should write one's own.
    """
    if result.labels:
        return
    number = result.housenumber
    streets = [result.name] if not number else [f"{result.name} {number}", f"{number} {result.name}"]
    cities = [f" {result.city}", ""] if result.city else [""]
    result.labels = [street + city for city in cities for street in streets]


def configure():
    config.REDIS = {"unix_socket_path": "redis.sock", "indexes": {"db": 0}, "documents": {"db": 1}}
    config.SYNONYMS_PATHS = ["synonyms.txt"]
    # Words are completed from their first letter on, and not only from the third.
    config.MIN_EDGE_NGRAMS = 1
    # Every letter may stand for every other, and not only for its neighbours on a French keyboard.
    config.FUZZY_KEY_MAP = None
    config.PROCESSORS_PYPATHS = [
        flag_number if path.endswith("flag_housenumber") else path for path in config.PROCESSORS_PYPATHS
    ]
    config.SEARCH_RESULT_PROCESSORS_PYPATHS = [
        make_labels if path.endswith("make_labels") else path for path in config.SEARCH_RESULT_PROCESSORS_PYPATHS
    ]
    config.load()


def chunks(items, size):
    items = iter(items)
    return iter(lambda: list(itertools.islice(items, size)), [])


def import_documents():
    """What `addok batch` and `addok ngrams` do, in this process instead of in others."""
    config.INDEX_EDGE_NGRAMS = False
    with open("documents.ndjson", encoding="utf-8") as lines:
        for some in chunks(lines, DOCUMENTS_AT_ONCE):
            batch.process_documents(*some)
    for some in chunks(DB.scan_iter(match=f"{keys.TOKEN_PREFIX}*"), WORDS_AT_ONCE):
        autocomplete.index_ngram_keys(*some)


def find(question):
    """The best answer of all readings: one with a number before one without, and then by addok's score."""
    global number_places
    best = None
    for number_places in readings(question):
        first = next(iter(search(question)), None)
        if first is not None and (best is None or rank(first) > rank(best)):
            best = first
    number_places = ()
    return [] if best is None else [best]


def rank(result):
    return bool(result.housenumber), result.score


def search(*question, **options):
    global searches
    searches += 1
    return core.search(*question, **options)


def complete(question, lat, lon):
    return search(question, limit=COMPLETIONS, autocomplete=True, lat=lat, lon=lon)


def reverse(lat, lon):
    global searches
    searches += 1
    return core.reverse(lat=lat, lon=lon, limit=1, type="housenumber")


ASK = {"find": find, "complete": complete, "reverse": reverse}


def serve():
    seconds = 0.0
    for line in sys.stdin:
        question = json.loads(line)
        kind = question.pop("do")
        if kind == "spent":
            redis = DB.info("cpu")
            cpu = seconds + redis["used_cpu_user"] + redis["used_cpu_sys"]
            answer = {"searches": searches, "cpuSeconds": cpu}
        else:
            before = time.process_time()
            found = ASK[kind](**question)
            seconds += time.process_time() - before
            answer = [{"name": one.name, "latitude": float(one.lat), "longitude": float(one.lon)} for one in found]
        print(json.dumps(answer), file=answers, flush=True)


try:
    configure()
    import_documents()
    print(json.dumps(DB.dbsize()), file=answers, flush=True)
    serve()
except KeyboardInterrupt:
    pass
finally:
    DB.shutdown(nosave=True)
