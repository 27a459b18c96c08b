"""qdrant-client for Python over a gateway's vectors: under its prefix and at the root, what a program would do."""

import sys
import warnings

from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import UnexpectedResponse

# A client that doubts the server's version says so by a warning: that must not happen.
warnings.simplefilter("error")
warnings.filterwarnings("ignore", "Api key is used with an insecure connection")
url, key = sys.argv[1:3]
checks = 0


def equal(what, seen, wanted):
    global checks
    checks += 1
    assert seen == wanted, f"{what}: {seen!r}, not {wanted!r}"


def refused(what, status, call):
    global checks
    checks += 1
    try:
        call()
    except UnexpectedResponse as error:
        assert error.status_code == status, f"{what}: {error!r}"
    else:
        raise AssertionError(f"{what}: not refused")


def key_is(name, value):
    return models.FieldCondition(key=name, match=models.MatchValue(value=value))


def use(client, name):
    vectors = models.VectorParams(size=4, distance=models.Distance.COSINE)
    equal("create", client.create_collection(name, vectors_config=vectors), True)
    equal("exists", client.collection_exists(name), True)
    refused("create again", 409, lambda: client.create_collection(name, vectors_config=vectors))
    points = [
        models.PointStruct(id=1, vector=[1, 0, 0, 0], payload={"text": "one", "n": {"deep": 1}}),
        models.PointStruct(id=2, vector=[0, 1, 0, 0], payload={"text": "two", "n": {"deep": 2}}),
        models.PointStruct(id="5c56c793-69f3-4fbf-87e6-c4bf54c28c26", vector=[0.9, 0.1, 0, 0], payload={"text": "three"}),
    ]
    equal("upsert", client.upsert(name, points).status, models.UpdateStatus.COMPLETED)
    equal("info", client.get_collection(name).points_count, 3)
    equal("count", client.count(name, exact=True).count, 3)
    found = client.query_points(name, query=[1, 0, 0, 0], limit=2, with_payload=True).points
    equal("query", [point.payload["text"] for point in found], ["one", "three"])
    only = models.Filter(must=[key_is("n.deep", 2)])
    equal("filtered", [point.id for point in client.query_points(name, query=[1, 0, 0, 0], query_filter=only).points], [2])
    by_point = client.query_points(name, query=1, limit=1).points
    equal("query by a point", [str(point.id) for point in by_point], ["5c56c793-69f3-4fbf-87e6-c4bf54c28c26"])
    both = [models.QueryRequest(query=vector, limit=1) for vector in ([1, 0, 0, 0], [0, 1, 0, 0])]
    equal("batch", [answer.points[0].id for answer in client.query_batch_points(name, both)], [1, 2])
    equal("retrieve", client.retrieve(name, [2], with_vectors=True)[0].vector, [0, 1, 0, 0])
    page, following = client.scroll(name, limit=2)
    rest, end = client.scroll(name, limit=2, offset=following)
    equal("scroll", (len(page), len(rest), end), (2, 1, None))
    client.create_payload_index(name, "text", field_schema=models.PayloadSchemaType.KEYWORD)
    equal("facet", sorted(hit.value for hit in client.facet(name, "text").hits), ["one", "three", "two"])
    client.set_payload(name, {"seen": True}, points=[1])
    equal("set payload", client.retrieve(name, [1])[0].payload["seen"], True)
    client.delete(name, points_selector=models.FilterSelector(filter=models.Filter(must=[key_is("seen", True)])))
    equal("delete by filter", client.count(name).count, 2)
    wrong = [models.PointStruct(id=9, vector=[1, 0])]
    refused("other length", 400, lambda: client.upsert(name, wrong))
    equal("nothing written", client.count(name).count, 2)
    client.upload_collection(name, vectors=[[0, 0, 1, 0], [0, 0, 0, 1]], ids=[10, 11])
    equal("upload_collection", client.count(name).count, 4)
    equal("listed", name in [one.name for one in client.get_collections().collections], True)
    equal("delete", client.delete_collection(name), True)
    refused("gone", 404, lambda: client.get_collection(name))


use(QdrantClient(url=url, prefix="/v1/vectors", api_key=key), "prefixed")
use(QdrantClient(url=url, headers={"authorization": f"Bearer {key}"}), "at-root")
refused("stranger", 401, lambda: QdrantClient(url=url, api_key="sk-cv-nobody", check_compatibility=False).get_collections())
print(checks)
